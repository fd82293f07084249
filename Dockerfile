# The services of a node as one image, see docs/containers.md:
#
#   docker build --tag kubus .
#   docker build --tag kubus-containerd --target containerd .
#
# Stages can be replaced by what was made elsewhere, such as where a build reaches no registry:
#   node packages/tools/launcher/scripts/image-parts.mjs parts && docker build --build-context parts=parts --build-arg BASE_IMAGE=... .

# Base images are named by digest: a tag can be moved. A digest is that of the index, which has all architectures; a new one is shown by
#   docker buildx imagetools inspect node:24.21.0-bookworm
# Builds the programs; nothing of it but its output is in the image.
ARG BUILD_IMAGE=node:24.21.0-bookworm@sha256:64af3819f9275802414d7cdc38c27e9d82bd564dec4d4da87d008255d36c63b4
# glibc and the usual tools of a distribution. Node comes from the build.
ARG BASE_IMAGE=debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171

FROM ${BUILD_IMAGE} AS build
# The first step, so that it is read before the waiting begins.
RUN echo 'This build downloads about 1 GB (base images, packages), needs 4 GB of disk and 2 GB of memory, and takes 5 to 10 minutes on two cores.'
RUN apt-get update \
  && apt-get install --yes --no-install-recommends busybox-static gcc libc6-dev \
  && rm -rf /var/lib/apt/lists/*
ENV CI=1 COREPACK_ENABLE_DOWNLOAD_PROMPT=0 TURBO_TELEMETRY_DISABLED=1
WORKDIR /src
COPY . .
# Corepack checks pnpm against the SHA-512 in package.json.
RUN corepack enable && pnpm install --frozen-lockfile
RUN pnpm build --output-logs=errors-only
RUN node --disable-warning=ExperimentalWarning packages/tools/launcher/scripts/image-parts.mjs /parts

# As a file system, so that it can be a folder that was made elsewhere.
FROM scratch AS parts
COPY --from=build /parts /

FROM ${BASE_IMAGE} AS runtime-base
RUN groupadd --system --gid 65532 kubus \
  && useradd --system --uid 65532 --gid 65532 --home-dir /nonexistent --shell /usr/sbin/nologin kubus

FROM runtime-base AS containerd-base
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates containerd containernetworking-plugins iptables kmod runc \
  && rm -rf /var/lib/apt/lists/*

# For machines without a container runtime: that, and the images that a node has from the beginning.
FROM containerd-base AS containerd
COPY --from=parts /usr/lib/kubus/native /usr/lib/kubus/native
COPY --from=parts /usr/lib/kubus/start-containerd /usr/lib/kubus/start-containerd
COPY --from=parts /usr/local/bin/kubus /usr/local/bin/kubus
COPY --from=parts /usr/share/kubus/images /usr/share/kubus/images
LABEL org.opencontainers.image.title="kubus-containerd" \
  org.opencontainers.image.description="A container runtime for a Kubus node" \
  org.opencontainers.image.licenses="Apache-2.0"
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["kubus", "containerd", "--check"]
ENTRYPOINT ["kubus"]
CMD ["containerd"]

FROM runtime-base AS kubus
COPY --from=parts /usr/bin/node /usr/bin/node
COPY --from=parts /usr/share/doc/kubus /usr/share/doc/kubus
COPY --from=parts /etc/kubus /etc/kubus
COPY --from=parts /usr/local/bin/kubus /usr/local/bin/kubus
COPY --from=parts /usr/lib/kubus /usr/lib/kubus
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kubus" \
  org.opencontainers.image.description="A Kubernetes node agent: the kubelet as cooperating processes on NATS" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.licenses="Apache-2.0"
# Services that change the machine, and install, are given root where they are started (docs/containers.md#services).
USER 65532:65532
ENTRYPOINT ["kubus"]
CMD ["help"]
