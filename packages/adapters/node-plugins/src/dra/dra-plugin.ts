import type { ClaimDevice } from '@kubus/contracts';
import type { HealthReport } from '@kubus/dra';
import { type Cancel, KubusError } from '@kubus/ports';
import { DRAPluginService, type Device } from '@kubus/proto/dra-grpc';
import {
  type DeviceHealth,
  DRAResourceHealthService,
  type NodeWatchResourcesResponse,
} from '@kubus/proto/dra-health-grpc';
import { DRAPluginService as BetaPluginService } from '@kubus/proto/dra-v1beta1-grpc';
import type { CallTerms } from '../registration/call.ts';
import { PluginConnection } from '../registration/connection.ts';
import type { DraService } from './registration.ts';

/** How long a driver may take for a call, in milliseconds, as in the reference kubelet. */
const LIMIT_MS = 45_000;

/** A claim, as a driver knows it. */
interface DriverClaim {
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
 * A driver of resource claims, behind its socket (behaviour:resource-managers, DRA). Both calls may be repeated for the same claims. They throw
 * PluginCallError, and a KubusError with the reference kubelet's words when the driver answers with an error for a claim, or not for it.
 */
export class DraPlugin {
  /** Path of its socket. */
  readonly socket: string;
  readonly #service: DraService;
  readonly #terms: CallTerms;
  readonly #connection: PluginConnection;

  /** @param limitMs how long a call may take */
  constructor(socket: string, service: DraService, limitMs = LIMIT_MS) {
    this.socket = socket;
    this.#connection = new PluginConnection(socket);
    this.#service = service;
    this.#terms = { limitMs };
  }

  /** The full name of a method, as the reference kubelet's metrics have it. */
  pathOf(method: DraMethod): string {
    const service = this.#isBeta ? BetaPluginService : DRAPluginService;
    return method === 'NodePrepareResources' ? service.nodePrepareResources.path : service.nodeUnprepareResources.path;
  }

  /** Follows whether a process answers on its socket. See {@link PluginConnection}. */
  watch(changed: (connected: boolean) => void): Cancel {
    return this.#connection.watch(changed);
  }

  /** Follows the health of the driver's devices, all of them each time. The error `UNIMPLEMENTED`: the driver does not report any. */
  watchHealth({ devices, ended }: HealthListener): Cancel {
    const message = (list: NodeWatchResourcesResponse) =>
      devices(list.devices.slice(0, MOST_REPORTED).map(healthReport));
    return this.#connection.follow(DRAResourceHealthService.nodeWatchResources, {}, { message, ended });
  }

  /** Has the driver prepare claims, in one call; returns the devices that it has prepared, by the UID of their claim. */
  async prepare(claims: readonly DriverClaim[]): Promise<ReadonlyMap<string, readonly ClaimDevice[]>> {
    const request = requestFor(claims);
    const answer = this.#isBeta
      ? await this.#connection.call(this.#terms, BetaPluginService.nodePrepareResources, request)
      : await this.#connection.call(this.#terms, DRAPluginService.nodePrepareResources, request);
    checkAnswers(answer.claims, claims, 'NodePrepareResources');
    return new Map(Object.entries(answer.claims).map(([uid, { devices }]) => [uid, devices.map(claimDevice)]));
  }

  /** Has the driver undo the preparation of claims, in one call. */
  async unprepare(claims: readonly DriverClaim[]): Promise<void> {
    const request = requestFor(claims);
    const answer = this.#isBeta
      ? await this.#connection.call(this.#terms, BetaPluginService.nodeUnprepareResources, request)
      : await this.#connection.call(this.#terms, DRAPluginService.nodeUnprepareResources, request);
    checkAnswers(answer.claims, claims, 'NodeUnprepareResources');
  }

  get #isBeta(): boolean {
    return this.#service === 'v1beta1.DRAPlugin';
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

function requestFor(claims: readonly DriverClaim[]) {
  return { claims: claims.map(({ namespace, uid, name }) => ({ namespace, uid, name })) };
}

/** @param device `shareId` only since v1 */
function claimDevice(device: Omit<Device, 'shareId'> & Partial<Pick<Device, 'shareId'>>): ClaimDevice {
  const { poolName, deviceName, requestNames, cdiDeviceIds, shareId } = device;
  return {
    ...{ pool: poolName, device: deviceName, requests: requestNames, cdiDevices: cdiDeviceIds },
    ...(shareId !== undefined && { shareId }),
  };
}

interface ClaimAnswer {
  readonly error: string;
  readonly devices?: readonly unknown[];
}

/** Throws, with the reference kubelet's words, unless each claim has an answer without an error, and no other claim has one. */
function checkAnswers(
  answers: Readonly<Record<string, ClaimAnswer>>,
  claims: readonly DriverClaim[],
  method: DraMethod,
): void {
  const names = new Map(claims.map(({ uid, name }) => [uid, name]));
  for (const [uid, { error, devices = [] }] of Object.entries(answers)) {
    const name = names.get(uid);
    if (name === undefined) {
      throw new KubusError('bad-answer', `${method} returned result for unknown claim UID ${uid}`);
    }
    if (error !== '') throw new KubusError('failed', `${method} failed for ResourceClaim ${name}: ${error}`);
    if (devices.length > MOST_DEVICES) {
      throw new KubusError('refused', `${method}: ${devices.length} devices for ResourceClaim ${name}`);
    }
  }
  const skipped = names.size - Object.keys(answers).length;
  if (skipped !== 0) throw new KubusError('bad-answer', `${method} skipped ${skipped} ResourceClaims`);
}
