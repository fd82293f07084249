import type { Container, ContainerPort, LifecycleHandler, Pod } from '@kubus/contracts';
import { goJson } from '@kubus/pod';
import { ANNOTATION, containerHash, isSet } from '@kubus/pod-lifecycle';

/**
 * Annotations of a container that allow a node agent without any other information to stop it as its pod requires
 * (behaviour:labels-paths-logs).
 */
export function containerAnnotations(pod: Pod, container: Container, attempt: number): Record<string, string> {
  const { metadata, spec } = pod;
  const annotations: Record<string, string> = {
    [ANNOTATION.hash]: containerHash(container),
    [ANNOTATION.restartCount]: String(attempt),
    [ANNOTATION.terminationMessagePath]: container.terminationMessagePath ?? '/dev/termination-log',
    [ANNOTATION.terminationMessagePolicy]: container.terminationMessagePolicy ?? 'File',
  };
  if (isSet(metadata.deletionTimestamp) && metadata.deletionGracePeriodSeconds !== undefined) {
    annotations[ANNOTATION.deletionGracePeriod] = String(metadata.deletionGracePeriodSeconds);
  }
  if (spec.terminationGracePeriodSeconds !== undefined) {
    annotations[ANNOTATION.terminationGracePeriod] = String(spec.terminationGracePeriodSeconds);
  }
  const { preStop } = container.lifecycle ?? {};
  if (preStop !== undefined) annotations[ANNOTATION.preStopHandler] = goJson(handlerFields(preStop));
  const { ports = [] } = container;
  if (ports.length > 0) annotations[ANNOTATION.ports] = goJson(ports.map(portFields));
  return annotations;
}

/** The API's fields in the API's order, so that the text equals the reference kubelet's to the byte. */
function handlerFields({ exec, httpGet, tcpSocket, sleep }: LifecycleHandler): object {
  return {
    exec: exec && { command: filled(exec.command) },
    httpGet: httpGet && {
      path: filled(httpGet.path),
      port: httpGet.port,
      host: filled(httpGet.host),
      scheme: filled(httpGet.scheme),
      httpHeaders: filled(httpGet.httpHeaders?.map(({ name, value }) => ({ name, value }))),
    },
    tcpSocket: tcpSocket && { port: tcpSocket.port, host: filled(tcpSocket.host) },
    sleep: sleep && { seconds: sleep.seconds },
  };
}

function portFields({ containerPort, hostIP, hostPort, name, protocol }: ContainerPort): object {
  return {
    name: filled(name),
    hostPort: hostPort === 0 ? undefined : hostPort,
    containerPort,
    protocol: filled(protocol),
    hostIP: filled(hostIP),
  };
}

function filled<T extends { readonly length: number }>(value: T | undefined): T | undefined {
  return value?.length === 0 ? undefined : value;
}
