import {
  type Container,
  type ContainerPort,
  type Lifecycle,
  containerPortSchema,
  lifecycleHandlerSchema,
  type RuntimeContainer,
} from '@kubus/contracts';
import { ANNOTATION } from './annotations.ts';

/**
 * The information needed to stop a container without its spec, from its annotations (behaviour:kill-and-grace and
 * behaviour:labels-paths-logs).
 */
export interface StopAnnotations {
  /** Name, ports, preStop handler and termination message fields. */
  readonly container: Container;
  /** Seconds. */
  readonly deletionGraceSeconds: number | undefined;
  readonly terminationGraceSeconds: number | undefined;
}

/** Parses the annotations with which a container was created. Missing or invalid ones are omitted. */
export function readStopAnnotations({ name, annotations }: RuntimeContainer): StopAnnotations {
  const preStop = parsed<Lifecycle['preStop']>(annotations[ANNOTATION.preStopHandler], lifecycleHandlerSchema);
  const ports = parsed<ContainerPort[]>(annotations[ANNOTATION.ports], containerPortSchema.array());
  const path = annotations[ANNOTATION.terminationMessagePath];
  const policy = annotations[ANNOTATION.terminationMessagePolicy];
  return {
    container: {
      name,
      ...(ports !== undefined && { ports }),
      ...(preStop !== undefined && { lifecycle: { preStop } }),
      ...(path !== undefined && { terminationMessagePath: path }),
      ...(policy !== undefined && { terminationMessagePolicy: policy }),
    },
    deletionGraceSeconds: seconds(annotations[ANNOTATION.deletionGracePeriod]),
    terminationGraceSeconds: seconds(annotations[ANNOTATION.terminationGracePeriod]),
  };
}

function seconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

function parsed<T>(text: string | undefined, schema: Schema<T>): T | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}
