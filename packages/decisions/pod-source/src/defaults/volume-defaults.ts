import { type DownwardApiVolumeFile, type Volume, type VolumeProjection, volumeSourceNames } from '@kubus/contracts';
import { defaultPullPolicy, or } from './default-values.ts';

const FILE_MODE = 0o644;
const TOKEN_SECONDS = 3600;
const CERTIFICATE_SECONDS = 86400;

/** A volume with the API server's defaults. One without any source is an emptyDir. */
export function defaultVolume(volume: Volume): Volume {
  if (volumeSourceNames.every((name) => volume[name] === undefined)) return { ...volume, emptyDir: {} };
  return { ...volume, ...defaultFiles(volume), ...defaultRemote(volume) };
}

function defaultFiles(volume: Volume): Partial<Volume> {
  const { hostPath, secret, configMap, downwardAPI, projected, ephemeral, image } = volume;
  const template = ephemeral?.volumeClaimTemplate;
  return {
    ...(hostPath && { hostPath: { ...hostPath, type: hostPath.type ?? '' } }),
    ...(secret && { secret: { ...secret, defaultMode: secret.defaultMode ?? FILE_MODE } }),
    ...(configMap && { configMap: { ...configMap, defaultMode: configMap.defaultMode ?? FILE_MODE } }),
    ...(downwardAPI && {
      downwardAPI: {
        ...downwardAPI,
        defaultMode: downwardAPI.defaultMode ?? FILE_MODE,
        ...(downwardAPI.items && { items: downwardAPI.items.map(defaultDownwardFile) }),
      },
    }),
    ...(projected && {
      projected: {
        ...projected,
        defaultMode: projected.defaultMode ?? FILE_MODE,
        ...(projected.sources && { sources: projected.sources.map(defaultProjection) }),
      },
    }),
    ...(template && {
      ephemeral: {
        ...ephemeral,
        volumeClaimTemplate: {
          ...template,
          spec: { ...template.spec, volumeMode: or(template.spec.volumeMode, 'Filesystem') },
        },
      },
    }),
    ...(image && {
      image: { ...image, pullPolicy: or(image.pullPolicy, defaultPullPolicy(image.reference ?? '')) },
    }),
  };
}

function defaultRemote({ iscsi, rbd, azureDisk, scaleIO }: Volume): Partial<Volume> {
  return {
    ...(iscsi && { iscsi: { ...iscsi, iscsiInterface: or(iscsi.iscsiInterface, 'default') } }),
    ...(rbd && {
      rbd: {
        ...rbd,
        pool: or(rbd.pool, 'rbd'),
        user: or(rbd.user, 'admin'),
        keyring: or(rbd.keyring, '/etc/ceph/keyring'),
      },
    }),
    ...(azureDisk && {
      azureDisk: {
        ...azureDisk,
        cachingMode: or(azureDisk.cachingMode, 'ReadWrite'),
        kind: or(azureDisk.kind, 'Shared'),
        fsType: or(azureDisk.fsType, 'ext4'),
        readOnly: azureDisk.readOnly ?? false,
      },
    }),
    ...(scaleIO && {
      scaleIO: {
        ...scaleIO,
        storageMode: or(scaleIO.storageMode, 'ThinProvisioned'),
        fsType: or(scaleIO.fsType, 'xfs'),
      },
    }),
  };
}

function defaultProjection(source: VolumeProjection): VolumeProjection {
  const { downwardAPI, serviceAccountToken: token, podCertificate: certificate } = source;
  return {
    ...source,
    ...(downwardAPI?.items && { downwardAPI: { ...downwardAPI, items: downwardAPI.items.map(defaultDownwardFile) } }),
    ...(token && { serviceAccountToken: { ...token, expirationSeconds: token.expirationSeconds ?? TOKEN_SECONDS } }),
    ...(certificate && {
      podCertificate: { ...certificate, maxExpirationSeconds: certificate.maxExpirationSeconds ?? CERTIFICATE_SECONDS },
    }),
  };
}

function defaultDownwardFile(file: DownwardApiVolumeFile): DownwardApiVolumeFile {
  const { fieldRef } = file;
  return { ...file, ...(fieldRef && { fieldRef: { ...fieldRef, apiVersion: or(fieldRef.apiVersion, 'v1') } }) };
}
