# The operator, and `inference-fleet pull` in engine pods. Everything from an index is pinned by hash.
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
WORKDIR /src
COPY requirements.lock requirements-dev.lock ./
RUN python -m venv /opt/inference-fleet \
 && /opt/inference-fleet/bin/pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements.lock
# The package's own build needs setuptools; it stays in this stage.
RUN sed -n '/^setuptools==/,/[^\\]$/p' requirements-dev.lock > build.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes -r build.lock
COPY pyproject.toml README.md ./
COPY operator operator
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && /opt/inference-fleet/bin/pip install --no-cache-dir --no-deps --no-index dist/*.whl \
 && /opt/inference-fleet/bin/pip uninstall --yes pip

FROM ${BASE}
COPY --from=build /opt/inference-fleet /opt/inference-fleet
ENV PATH=/opt/inference-fleet/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
ENTRYPOINT ["inference-fleet"]
