# A client that is not ours, for a container beside the broker's.
ARG BASE=debian:trixie-slim
FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends kcat \
 && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["kcat"]
