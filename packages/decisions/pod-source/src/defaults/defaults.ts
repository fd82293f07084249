import {
  type Container,
  type Pod,
  type PodSpec,
  type Probe,
  type ResourceList,
  formatQuantity,
} from '@kubus/contracts';
import { canonicalQuantities } from './canonical-quantities.ts';
import { defaultPullPolicy, or } from './default-values.ts';
import { aggregateResources, isHugePages, isOvercommitted, isPodLevelResource } from '../pod-resources.ts';
import { defaultVolume } from './volume-defaults.ts';

const GRACE_PERIOD_SECONDS = 30;

/**
 * The pod with every default that the API server sets on a new one; fields that are set keep their value. Quantities are in
 * canonical form, as stored by the API server, rounded to a thousandth.
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go and the defaults declared in k8s.io/api/core/v1.
 */
export function defaultPod(pod: Pod): Pod {
  return canonicalQuantities(fillDefaults(pod));
}

/** The pod with every default that the API server sets, with quantities as written. */
export function fillDefaults(pod: Pod): Pod {
  const { spec } = pod;
  const hostNetwork = spec.hostNetwork === true;
  const account = or(spec.serviceAccountName, spec.serviceAccount ?? '');
  const withContainers: PodSpec = {
    ...spec,
    restartPolicy: or(spec.restartPolicy, 'Always'),
    dnsPolicy: or(spec.dnsPolicy, 'ClusterFirst'),
    schedulerName: or(spec.schedulerName, 'default-scheduler'),
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? GRACE_PERIOD_SECONDS,
    securityContext: spec.securityContext ?? {},
    enableServiceLinks: spec.enableServiceLinks ?? true,
    ...(account !== '' && { serviceAccountName: account, serviceAccount: account }),
    containers: spec.containers.map((container) => requestsFromLimits(defaultContainer(container, hostNetwork))),
    ...(spec.initContainers && {
      initContainers: spec.initContainers.map((container) =>
        requestsFromLimits(defaultContainer(container, hostNetwork)),
      ),
    }),
    ...(spec.ephemeralContainers && {
      ephemeralContainers: spec.ephemeralContainers.map((container) => defaultContainer(container, false)),
    }),
    ...(spec.volumes && { volumes: spec.volumes.map(defaultVolume) }),
  };
  return { ...pod, spec: defaultPodResources(withContainers) };
}

function defaultContainer<C extends Container>(container: C, hostNetwork: boolean): C {
  const { ports, env, lifecycle } = container;
  return {
    ...container,
    imagePullPolicy: or(container.imagePullPolicy, defaultPullPolicy(container.image ?? '')),
    terminationMessagePath: or(container.terminationMessagePath, '/dev/termination-log'),
    terminationMessagePolicy: or(container.terminationMessagePolicy, 'File'),
    ...(ports && {
      ports: ports.map((port) => ({
        ...port,
        protocol: or(port.protocol, 'TCP'),
        // In the host's network, a container port is the same host port.
        ...(hostNetwork && (port.hostPort ?? 0) === 0 && { hostPort: port.containerPort }),
      })),
    }),
    ...(env && { env: env.map(defaultEnv) }),
    ...(container.livenessProbe && { livenessProbe: defaultProbe(container.livenessProbe) }),
    ...(container.readinessProbe && { readinessProbe: defaultProbe(container.readinessProbe) }),
    ...(container.startupProbe && { startupProbe: defaultProbe(container.startupProbe) }),
    ...(lifecycle && {
      lifecycle: {
        ...lifecycle,
        ...(lifecycle.postStart && { postStart: defaultHandler(lifecycle.postStart) }),
        ...(lifecycle.preStop && { preStop: defaultHandler(lifecycle.preStop) }),
      },
    }),
  };
}

function defaultEnv(variable: NonNullable<Container['env']>[number]): typeof variable {
  const source = variable.valueFrom;
  if (source === undefined) return variable;
  const { fieldRef, fileKeyRef } = source;
  return {
    ...variable,
    valueFrom: {
      ...source,
      ...(fieldRef && { fieldRef: { ...fieldRef, apiVersion: or(fieldRef.apiVersion, 'v1') } }),
      ...(fileKeyRef && { fileKeyRef: { ...fileKeyRef, optional: fileKeyRef.optional ?? false } }),
    },
  };
}

function defaultProbe(probe: Probe): Probe {
  const positive = (value: number | undefined, fallback: number) =>
    value === undefined || value === 0 ? fallback : value;
  return {
    ...defaultHandler(probe),
    ...(probe.grpc && { grpc: { ...probe.grpc, service: probe.grpc.service ?? '' } }),
    timeoutSeconds: positive(probe.timeoutSeconds, 1),
    periodSeconds: positive(probe.periodSeconds, 10),
    successThreshold: positive(probe.successThreshold, 1),
    failureThreshold: positive(probe.failureThreshold, 3),
  };
}

function defaultHandler<H extends Pick<Probe, 'httpGet'>>(handler: H): H {
  const { httpGet } = handler;
  if (httpGet === undefined) return handler;
  return { ...handler, httpGet: { ...httpGet, path: or(httpGet.path, '/'), scheme: or(httpGet.scheme, 'HTTP') } };
}

function requestsFromLimits(container: Container): Container {
  const { limits, requests } = container.resources ?? {};
  if (limits === undefined) return container;
  return { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
}

/**
 * A pod with pod-level resources (KEP-2837) gets huge page limits from its containers, and requests from its
 * containers or otherwise from its limits.
 */
function defaultPodResources(spec: PodSpec): PodSpec {
  const { limits: givenLimits = {}, requests: givenRequests = {} } = spec.resources ?? {};
  const limits: ResourceList = { ...givenLimits };
  const requests: ResourceList = { ...givenRequests };
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return spec;

  for (const [name, total] of aggregateResources(spec, 'limits')) {
    if (isHugePages(name) && requests[name] === undefined) limits[name] ??= formatQuantity(total);
  }
  if (Object.keys(limits).length > 0) {
    for (const [name, total] of aggregateResources(spec, 'requests')) {
      if (isPodLevelResource(name) && isOvercommitted(name)) requests[name] ??= formatQuantity(total);
    }
    for (const [name, limit] of Object.entries(limits)) {
      if (isPodLevelResource(name)) requests[name] ??= limit;
    }
  }
  return {
    ...spec,
    resources: {
      ...spec.resources,
      ...(Object.keys(limits).length > 0 && { limits }),
      ...(Object.keys(requests).length > 0 && { requests }),
    },
  };
}
