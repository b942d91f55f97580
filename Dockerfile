# Serves the demo's model on port 8000, on the CPU. Build: docker build -t tagfill . ; run:
#   docker run -p 8000:8000 -e TAGFILL_TOKEN=choose-one tagfill
FROM python:3.11-slim AS build
WORKDIR /src
# An index with CPU builds of torch makes the image several GB smaller.
ARG PIP_EXTRA_INDEX_URL=
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir -c constraints.txt '.[serve]' \
 && /venv/bin/tagfill demo --out /demo

FROM python:3.11-slim
RUN useradd --create-home tagfill
COPY --from=build /venv /venv
COPY --from=build --chown=tagfill /demo /demo
USER tagfill
EXPOSE 8000
HEALTHCHECK CMD ["/venv/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz')"]
CMD ["/venv/bin/tagfill", "serve", "/demo/runs/auto-seed0", "--host", "0.0.0.0", "--port", "8000"]
