import { admissionRecordSchema } from '@kubus/admission';
import { attachmentRecordSchema } from '@kubus/cni-config';
import { fileRecordSchema } from '@kubus/config-sources';
import { pullIntentSchema, pulledRecordSchema } from '@kubus/cri-bridge';
import { allocationRecordSchema, resourceRecordSchema } from '@kubus/node-agent';
import { podRecordSchema } from '@kubus/pod-workers';
import { probeRecordSchema } from '@kubus/prober';
import { volumeRecordSchema } from '@kubus/volume-manager';
import * as z from 'zod';
import type { ComparedContract } from './compatibility.ts';
import type { JsonSchema } from './json-schemas.ts';

/** The records that services keep on disk, by their folder or file below the node's state, without its ending, with dots for slashes. */
const records: Readonly<Record<string, z.ZodType>> = {
  'cni-bridge.attachments': attachmentRecordSchema,
  'config-sources.files': fileRecordSchema,
  'cri-bridge.images.pulled': pulledRecordSchema,
  'cri-bridge.images.pulling': pullIntentSchema,
  'node-agent.devices': allocationRecordSchema,
  'node-agent.device-resources': resourceRecordSchema,
  'pod-workers.pods': podRecordSchema,
  'prober.pods': probeRecordSchema,
  'sync-loop.pods': admissionRecordSchema,
  'volume-manager.pods': volumeRecordSchema,
};

/**
 * The records that services leave for their next lives, as a contract without messages: a later version reads what the previous
 * one wrote, and that one reads it again after a rollback.
 */
export function recordsContract(): ComparedContract {
  const schemas = Object.entries(records).flatMap(([folder, schema]): [string, JsonSchema][] => {
    const made = z.toJSONSchema(schema, { target: 'draft-7', io: 'input', reused: 'inline' });
    // A schema that contains itself is referenced; all referenced schemas are in one document.
    const text = JSON.stringify(made).replaceAll('"#/definitions/', `"#/components/schemas/${folder}.`);
    const { $schema: _dialect, definitions = {}, ...rest } = JSON.parse(text) as JsonSchema;
    const inner = Object.entries(definitions as Record<string, JsonSchema>);
    return [[folder, rest], ...inner.map(([name, one]): [string, JsonSchema] => [`${folder}.${name}`, one])];
  });
  return { channels: {}, operations: {}, components: { messages: {}, schemas: Object.fromEntries(schemas) } };
}
