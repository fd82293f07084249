import { goJson, parsedJson } from '@kubus/pod';
import * as z from 'zod';
import { type ClaimLedger, type KnownClaim, claimKey } from './claim-ledger.ts';
import type { ClaimProblem } from './pod-claims.ts';

const API_VERSION = 'checkpoint.dra.kubelet.k8s.io/v1';

const texts = z.array(z.string()).nullish();
const dataSchema = z.object({
  ClaimInfoStateList: z
    .array(
      z.object({
        ClaimUID: z.string(),
        ClaimName: z.string(),
        Namespace: z.string(),
        PodUIDs: z.record(z.string(), z.unknown()).nullish(),
        DriverState: z
          .record(
            z.string(),
            z.object({
              Devices: z
                .array(
                  z.object({
                    PoolName: z.string(),
                    DeviceName: z.string(),
                    ShareID: z.string().nullish(),
                    RequestNames: texts,
                    CDIDeviceIDs: texts,
                  }),
                )
                .nullish(),
            }),
          )
          .nullish(),
      }),
    )
    .nullish(),
});
const fileSchema = z.object({ Data: z.string(), Checksum: z.int().nonnegative() });

/** CRC-32 of the text's bytes (IEEE 802.3). */
export type Crc32 = (text: string) => number;

/** The text of the reference kubelet's checkpoint `dra_manager_state` (1.36). A driver without an answer has no list of devices. */
export function claimCheckpoint(ledger: ClaimLedger, crc32: Crc32): string {
  const list = [...ledger.values()].map(({ uid, name, namespace, pods, drivers }) => ({
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: Object.fromEntries(pods.toSorted().map((pod) => [pod, {}])),
    DriverState: Object.fromEntries(
      Object.entries(drivers)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([driver, devices]) => [driver, { Devices: devices?.map(deviceText) ?? null }]),
    ),
  }));
  const data = goJson({ kind: 'DRACheckpoint', apiVersion: API_VERSION, ClaimInfoStateList: list });
  return goJson({ Data: data, Checksum: crc32(data) });
}

/** What a checkpoint has, or why the reference kubelet does not start with it. */
export function parseClaimCheckpoint(text: string, crc32: Crc32): ClaimLedger | ClaimProblem {
  const file = fileSchema.safeParse(parsedJson(text));
  if (!file.success) return { problem: 'it is not a checkpoint' };
  if (crc32(file.data.Data) !== file.data.Checksum) return { problem: 'checkpoint is corrupted' };
  const data = dataSchema.safeParse(parsedJson(file.data.Data));
  if (!data.success) return { problem: `its content is not a list of claims: ${data.error.issues[0]?.message}` };
  const claims = (data.data.ClaimInfoStateList ?? []).map((one): KnownClaim => {
    const drivers = Object.entries(one.DriverState ?? {}).map(
      ([driver, { Devices }]): [string, KnownClaim['drivers'][string]] => [
        driver,
        Devices?.map((device) => ({
          pool: device.PoolName,
          device: device.DeviceName,
          ...(typeof device.ShareID === 'string' && { shareId: device.ShareID }),
          requests: device.RequestNames ?? [],
          cdiDevices: device.CDIDeviceIDs ?? [],
        })),
      ],
    );
    return {
      uid: one.ClaimUID,
      name: one.ClaimName,
      namespace: one.Namespace,
      pods: Object.keys(one.PodUIDs ?? {}),
      drivers: Object.fromEntries(drivers),
    };
  });
  return new Map(claims.map((claim) => [claimKey(claim), claim]));
}

function deviceText({
  pool,
  device,
  shareId,
  requests,
  cdiDevices,
}: NonNullable<KnownClaim['drivers'][string]>[number]) {
  return {
    PoolName: pool,
    DeviceName: device,
    ShareID: shareId ?? null,
    RequestNames: requests.length === 0 ? null : requests,
    CDIDeviceIDs: cdiDevices.length === 0 ? null : cdiDevices,
  };
}
