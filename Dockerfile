# releasegate with Prefect, for a server, a worker and commands: docs/install.md.
# docker build -t releasegate .
ARG PYTHON=3.11-slim-bookworm

FROM python:${PYTHON} AS build
RUN python -m venv /opt/releasegate
ENV PATH=/opt/releasegate/bin:$PATH
WORKDIR /source
COPY requirements.lock ./
RUN pip install --no-cache-dir -c requirements.lock setuptools
# The packages alone: a checkout may hold a store and its keys.
COPY pyproject.toml README.md LICENSE ./
COPY policy policy
COPY release_store release_store
COPY expectations expectations
COPY tasks tasks
COPY reports reports
COPY services services
COPY flows flows
COPY web web
COPY cli cli
COPY releasegate releasegate
# With the autoencoder: --build-arg EXTRAS=server,autoencoder
# --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
ARG EXTRAS=server
ARG PIP_EXTRA_INDEX_URL
RUN pip install --no-cache-dir --no-build-isolation -c requirements.lock ".[${EXTRAS}]"

FROM python:${PYTHON}
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin releasegate \
    && install --directory --owner=releasegate --group=releasegate --mode=0700 \
       /srv/releasegate /var/lib/releasegate
COPY --from=build /opt/releasegate /opt/releasegate
# What `prefect deploy` reads. The flows are those of the installation.
COPY prefect.yaml /opt/releasegate/deploy/prefect.yaml
ENV PATH=/opt/releasegate/bin:$PATH \
    HOME=/var/lib/releasegate \
    PREFECT_HOME=/var/lib/releasegate/prefect \
    RELEASEGATE_STORE=/srv/releasegate/store \
    RELEASEGATE_TRUST=/srv/releasegate \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
# Store, keys, people, policies and tables: one volume. Everything else can be read only.
WORKDIR /srv/releasegate
VOLUME ["/srv/releasegate", "/var/lib/releasegate"]
ENTRYPOINT ["releasegate"]
CMD ["--help"]
