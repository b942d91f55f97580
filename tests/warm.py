"""What commands import, imported in the process that ``tests/processes.py`` forks."""

from importlib import import_module

from tagfill.models.bodies import load_timm

load_timm()
for name in ("apply", "mask", "recover", "report", "serve", "train"):
    import_module(f"tagfill.cli.{name}")
for name in (
    "pytest",
    "accelerate",
    "torch._dynamo",
    "tagfill.report.page",
    "tagfill.serve.server",
    "tagfill.train.run",
):
    import_module(name)
