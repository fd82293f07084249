import type { Pod } from '@kubus/contracts';
import { type FieldError } from '../../src/validation/field.ts';
import { decodeManifest, defaultPod } from '../../src/index.ts';

export interface Parts {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly container?: object;
}

/** A pod that is valid except for the given parts, with its defaults. */
export function pod({ spec, annotations, container }: Parts = {}): Pod {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', uid: 'u', annotations },
    spec: { containers: [{ name: 'c', image: 'i', ...container }], ...spec },
  };
  const { pods, errors } = decodeManifest(JSON.stringify(manifest));
  const [decoded] = pods;
  if (decoded === undefined || errors.length > 0) throw new Error(JSON.stringify(errors));
  return defaultPod(decoded.pod);
}

export const texts = (errors: readonly FieldError[]): string[] =>
  errors.map(({ path, message }) => `${path.toString()}: ${message}`);
