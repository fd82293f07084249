import { ContainerConfigError } from './errors.ts';
import { expand } from './expand.ts';

/** A Secret or ConfigMap that a container's environment needs. */
export interface ObjectReference {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly namespace: string;
  readonly name: string;
}

/** Where one or more variables get their values from. */
export type EnvironmentStep =
  /** A text with references to variables before it. */
  | { readonly from: 'text'; readonly name: string; readonly text: string }
  /** A value as it is. */
  | { readonly from: 'value'; readonly name: string; readonly value: string }
  /** Every key of an object. */
  | {
      readonly from: 'object';
      readonly object: ObjectReference;
      readonly prefix: string;
      readonly optional: boolean;
    }
  /** One key of an object. */
  | {
      readonly from: 'key';
      readonly name: string;
      readonly object: ObjectReference;
      readonly key: string;
      readonly optional: boolean;
    };

/**
 * A container's environment before it holds any value of a Secret: it may travel and be recorded. Whoever has the values
 * completes it.
 */
export interface EnvironmentPlan {
  /** Name and value of what device plugins ask for. */
  readonly device: readonly (readonly [string, string])[];
  /** In order: a later variable takes the place of an earlier one. */
  readonly steps: readonly EnvironmentStep[];
  /** Name and value of services' variables. They can be referred to, and give way to all others. */
  readonly services: readonly (readonly [string, string])[];
}

/**
 * The data of an object, by key; undefined when there is no such object. Left out altogether on a node without an API
 * server, which could be asked.
 */
export type ObjectLookup = (object: ObjectReference) => Readonly<Record<string, string>> | undefined;

/** A complete environment, in order, and what a person should know of how it was made. */
export interface Environment {
  readonly variables: ReadonlyMap<string, string>;
  /** Texts of `InvalidEnvironmentVariableNames` events. */
  readonly warnings: readonly string[];
}

/** Which objects have to be there to complete an environment; optional ones may be missing. */
export function environmentObjects(plan: EnvironmentPlan): readonly (ObjectReference & { optional: boolean })[] {
  const found = new Map<string, ObjectReference & { optional: boolean }>();
  for (const step of plan.steps) {
    if (step.from !== 'object' && step.from !== 'key') continue;
    const id = `${step.object.kind}/${step.object.namespace}/${step.object.name}`;
    found.set(id, { ...step.object, optional: step.optional && found.get(id)?.optional !== false });
  }
  return [...found.values()];
}

/**
 * Gives every variable its value (kubelet behaviour 1.15, Env order). The only place where a container's environment and
 * the values of Secrets meet.
 *
 * Throws {@link ContainerConfigError} when an object or a key is missing that is not optional.
 */
export function completeEnvironment(plan: EnvironmentPlan, objects?: ObjectLookup): Environment {
  const services = new Map(plan.services);
  const variables = new Map<string, string>();
  const warnings: string[] = [];
  for (const step of plan.steps) {
    switch (step.from) {
      case 'text':
        variables.set(
          step.name,
          expand(step.text, (name) => variables.get(name) ?? services.get(name)),
        );
        break;
      case 'value':
        variables.set(step.name, step.value);
        break;
      case 'key': {
        const value = keyValue(step, objects);
        if (value !== undefined) variables.set(step.name, value);
        break;
      }
      case 'object': {
        const data = objectData(step, objects);
        const skipped = Object.keys(data).filter((key) => !isVariableName(step.prefix + key));
        for (const [key, value] of Object.entries(data)) {
          if (!skipped.includes(key)) variables.set(step.prefix + key, value);
        }
        if (skipped.length > 0) warnings.push(skippedText(step, skipped));
      }
    }
  }
  const complete = new Map(plan.device);
  for (const [name, value] of variables) complete.set(name, value);
  for (const [name, value] of services) if (!variables.has(name)) complete.set(name, value);
  return { variables: complete, warnings };
}

type KeyStep = Extract<EnvironmentStep, { from: 'key' }>;
type ObjectStep = Extract<EnvironmentStep, { from: 'object' }>;

function keyValue(step: KeyStep, objects: ObjectLookup | undefined): string | undefined {
  const { key, object, optional } = step;
  const data = objectData(step, objects);
  if (Object.hasOwn(data, key)) return data[key];
  if (optional) return undefined;
  throw new ContainerConfigError(`couldn't find key ${key} in ${object.kind} ${object.namespace}/${object.name}`, {
    missing: object,
  });
}

function objectData(
  { object, optional }: KeyStep | ObjectStep,
  objects: ObjectLookup | undefined,
): Readonly<Record<string, string>> {
  if (objects === undefined) {
    const kind = object.kind === 'Secret' ? 'secret' : 'configMap';
    throw new ContainerConfigError(`couldn't get ${kind} ${object.namespace}/${object.name}, no kubeClient defined`, {
      missing: object,
    });
  }
  const data = objects(object);
  if (data !== undefined) return data;
  if (optional) return {};
  throw new ContainerConfigError(`${object.kind.toLowerCase()} "${object.name}" not found`, { missing: object });
}

/** The API's rule (KEP-4369): any visible ASCII characters and spaces, but `=`. */
function isVariableName(name: string): boolean {
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(name);
}

function skippedText({ object, prefix }: ObjectStep, keys: readonly string[]): string {
  const names = keys.map((key) => prefix + key).sort();
  const source = `${object.kind === 'Secret' ? 'secret' : 'configMap'} ${object.namespace}/${object.name}`;
  return `Keys [${names.join(', ')}] from the EnvFrom ${source} were skipped since they are considered invalid environment variable names.`;
}
