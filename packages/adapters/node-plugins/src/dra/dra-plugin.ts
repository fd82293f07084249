import type { ClaimDevice } from '@kubus/contracts';
import type { HealthReport } from '@kubus/dra';
import { type Cancel, KubusError } from '@kubus/ports';
import { DRAPluginService } from '@kubus/proto/dra-grpc';
import { type DeviceHealth, DRAResourceHealthService } from '@kubus/proto/dra-health-grpc';
import { DRAPluginService as BetaPluginService } from '@kubus/proto/dra-v1beta1-grpc';
import { callPlugin } from '../registration/call.ts';
import { watchConnection } from '../registration/connection.ts';
import { followPlugin } from '../registration/stream.ts';
import type { DraService } from './registration.ts';

/** How long a driver may take for a call, in milliseconds, as in the reference kubelet. */
const LIMIT_MS = 45_000;

/** A claim, as a driver knows it. */
export interface DriverClaim {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

/** A method of a driver, as metrics name it. */
export type DraMethod = 'NodePrepareResources' | 'NodeUnprepareResources';

/** More devices than a driver has on a node. */
const MOST_REPORTED = 16_384;

export interface HealthListener {
  readonly devices: (devices: readonly HealthReport[]) => void;
  /** The stream has ended, not by the one who follows it. */
  readonly ended: (error: Error) => void;
}

/** More than any driver prepares for one claim. */
const MOST_DEVICES = 4096;

/**
 * A driver of resource claims, behind its socket (behaviour:resource-managers, DRA). Both calls may be repeated for the same claim. They throw
 * PluginCallError, and a KubusError with the reference kubelet's words when the driver answers with an error or not for the claim.
 */
export class DraPlugin {
  /** Path of its socket. */
  readonly socket: string;
  readonly #service: DraService;
  readonly #limitMs: number;

  /** @param limitMs how long a call may take */
  constructor(socket: string, service: DraService, limitMs = LIMIT_MS) {
    this.socket = socket;
    this.#service = service;
    this.#limitMs = limitMs;
  }

  /** The full name of a method, as the reference kubelet's metrics have it. */
  pathOf(method: DraMethod): string {
    const service = this.#isBeta ? BetaPluginService : DRAPluginService;
    return method === 'NodePrepareResources' ? service.nodePrepareResources.path : service.nodeUnprepareResources.path;
  }

  /** Follows whether a process answers on its socket. See {@link watchConnection}. */
  watch(changed: (connected: boolean) => void): Cancel {
    return watchConnection(this.socket, changed);
  }

  /** Follows the health of the driver's devices, all of them each time. The error `UNIMPLEMENTED`: the driver does not report any. */
  watchHealth({ devices, ended }: HealthListener): Cancel {
    return followPlugin(
      this.socket,
      DRAResourceHealthService.nodeWatchResources,
      {},
      { message: (list) => devices(list.devices.slice(0, MOST_REPORTED).map(healthReport)), ended },
    );
  }

  /** Has the driver prepare a claim; returns the devices that it has prepared. */
  async prepare({ namespace, uid, name }: DriverClaim): Promise<readonly ClaimDevice[]> {
    const request = { claims: [{ namespace, uid, name }] };
    const { claims } = this.#isBeta
      ? await callPlugin(this.#callee, BetaPluginService.nodePrepareResources, request)
      : await callPlugin(this.#callee, DRAPluginService.nodePrepareResources, request);
    const { devices } = answerFor(claims, uid, name, 'NodePrepareResources');
    if (devices.length > MOST_DEVICES) {
      throw new KubusError('refused', `NodePrepareResources: ${devices.length} devices for ResourceClaim ${name}`);
    }
    return devices.map((one) => {
      return {
        ...{ pool: one.poolName, device: one.deviceName, requests: one.requestNames, cdiDevices: one.cdiDeviceIds },
        ...('shareId' in one && typeof one.shareId === 'string' && { shareId: one.shareId }),
      };
    });
  }

  /** Has the driver undo the preparation of a claim. */
  async unprepare({ namespace, uid, name }: DriverClaim): Promise<void> {
    const request = { claims: [{ namespace, uid, name }] };
    const { claims } = this.#isBeta
      ? await callPlugin(this.#callee, BetaPluginService.nodeUnprepareResources, request)
      : await callPlugin(this.#callee, DRAPluginService.nodeUnprepareResources, request);
    answerFor(claims, uid, name, 'NodeUnprepareResources');
  }

  get #isBeta(): boolean {
    return this.#service === 'v1beta1.DRAPlugin';
  }

  get #callee() {
    return { socket: this.socket, limitMs: this.#limitMs };
  }
}

function healthReport({ device, health, healthCheckTimeoutSeconds, message }: DeviceHealth): HealthReport {
  const known = { HEALTHY: 'Healthy', UNHEALTHY: 'Unhealthy' } as const;
  const found = health === 'HEALTHY' || health === 'UNHEALTHY' ? known[health] : undefined;
  return {
    ...{ pool: device?.poolName ?? '', device: device?.deviceName ?? '', health: found },
    ...{ message, timeoutSeconds: Number(healthCheckTimeoutSeconds) },
  };
}

function answerFor<Answer extends { readonly error: string }>(
  claims: Readonly<Record<string, Answer>>,
  uid: string,
  name: string,
  method: DraMethod,
): Answer {
  const unknown = Object.keys(claims).find((one) => one !== uid);
  if (unknown !== undefined)
    throw new KubusError('bad-answer', `${method} returned result for unknown claim UID ${unknown}`);
  const answer = claims[uid];
  if (answer === undefined) throw new KubusError('bad-answer', `${method} skipped 1 ResourceClaims`);
  if (answer.error !== '')
    throw new KubusError('failed', `${method} failed for ResourceClaim ${name}: ${answer.error}`);
  return answer;
}
