"""Alembic's entry: runs the migrations on the connection the server hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
