import type {
  Container,
  DownwardApiVolumeFile,
  Pod,
  ResourceList,
  ResourceRequirements,
  Volume,
  VolumeProjection,
} from '@kubus/contracts';
import { MILLI, canonical } from './default-values.ts';

/**
 * The pod with its quantities in canonical form, as stored by the API server. Lists of resources are rounded to a
 * thousandth.
 */
export function canonicalQuantities(pod: Pod): Pod {
  const { spec } = pod;
  const { ephemeralContainers, initContainers, overhead, resources, volumes } = spec;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(ofContainer),
      ...(initContainers && { initContainers: initContainers.map(ofContainer) }),
      ...(ephemeralContainers && { ephemeralContainers: ephemeralContainers.map(ofContainer) }),
      ...(volumes && { volumes: volumes.map(ofVolume) }),
      ...(overhead && { overhead: ofList(overhead) }),
      ...(resources && { resources: ofResources(resources) }),
    },
  };
}

function ofContainer<C extends Container>(container: C): C {
  const { env, resources } = container;
  return {
    ...container,
    ...(env && { env: env.map(ofVariable) }),
    ...(resources && { resources: ofResources(resources) }),
  };
}

function ofVariable(variable: NonNullable<Container['env']>[number]): typeof variable {
  const { valueFrom } = variable;
  return valueFrom === undefined ? variable : { ...variable, valueFrom: withDivisor(valueFrom) };
}

function ofVolume(volume: Volume): Volume {
  const { downwardAPI, emptyDir, projected } = volume;
  return {
    ...volume,
    ...(emptyDir?.sizeLimit !== undefined && { emptyDir: { ...emptyDir, sizeLimit: canonical(emptyDir.sizeLimit) } }),
    ...(downwardAPI && { downwardAPI: ofFiles(downwardAPI) }),
    ...(projected?.sources && { projected: { ...projected, sources: projected.sources.map(ofProjection) } }),
  };
}

function ofProjection(source: VolumeProjection): VolumeProjection {
  const { downwardAPI } = source;
  return downwardAPI === undefined ? source : { ...source, downwardAPI: ofFiles(downwardAPI) };
}

function ofFiles<S extends { readonly items?: DownwardApiVolumeFile[] | undefined }>(source: S): S {
  return source.items === undefined ? source : { ...source, items: source.items.map(withDivisor) };
}

function withDivisor<S extends { readonly resourceFieldRef?: { readonly divisor?: string | undefined } | undefined }>(
  source: S,
): S {
  const { resourceFieldRef } = source;
  if (resourceFieldRef?.divisor === undefined) return source;
  return { ...source, resourceFieldRef: { ...resourceFieldRef, divisor: canonical(resourceFieldRef.divisor) } };
}

function ofResources(resources: ResourceRequirements): ResourceRequirements {
  const { limits, requests } = resources;
  return { ...resources, ...(limits && { limits: ofList(limits) }), ...(requests && { requests: ofList(requests) }) };
}

function ofList(list: ResourceList): ResourceList {
  return Object.fromEntries(Object.entries(list).map(([name, text]) => [name, canonical(text, MILLI)]));
}
