/**
 * CRI `runtime.v1` in the proto3 JSON mapping, as it travels on the bus: types, zod schemas, method table.
 * Names are lowerCamelCase, enums are their names, 64-bit integers are decimal strings, bytes are base64.
 * Pure: imports nothing but zod.
 */
export type { Unrecognized } from './json-form.ts';
export * from './generated/cri.ts';
