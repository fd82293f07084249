import type { RecordStore } from '@kubus/ports';
import { hash } from 'node:crypto';
import type { Tape } from './tape.ts';
import { pack, unpack } from './values.ts';

/** The ports of a service besides bus, clock and ids, by name, such as its records. */
export type Outside = Readonly<Record<string, object>>;

/** How each method of a port returns its outcome: as a promise, or at once. */
export type Shape<Port extends object> = Readonly<Record<keyof Port, 'promise' | 'at once'>>;

export type Shapes<Ports extends Outside> = { readonly [Name in keyof Ports]: Shape<Ports[Name]> };

/** The shape of a service's records. */
export const asyncRecords: Shape<RecordStore> = {
  load: 'promise',
  keys: 'promise',
  read: 'promise',
  put: 'promise',
  delete: 'promise',
};

type Method = (...values: readonly unknown[]) => unknown;

/**
 * Ports on a tape. Of a method's arguments only a digest is recorded, of its result everything; so a port that returns
 * secrets must not be among them.
 *
 * @param real undefined in a replay
 */
export function tapedOutside<Ports extends Outside>(tape: Tape, shapes: Shapes<Ports>, real?: Ports): Ports {
  const ports = Object.entries<Readonly<Record<string, string>>>(shapes as never).map(([name, shape]) => {
    const methods = Object.entries(shape).map(([method, gives]): [string, Method] => {
      const port = real?.[name] as Record<string, Method> | undefined;
      const call: Method = (...values) => port?.[method]?.(...values);
      const what = `${name}.${method}`;
      return [method, gives === 'promise' ? tapedCall(tape, what, call) : tapedValue(tape, call)];
    });
    return [name, Object.fromEntries(methods)];
  });
  return Object.fromEntries(ports) as Ports;
}

function tapedValue(tape: Tape, call: Method): Method {
  return (...values) => unpack(tape.value(() => pack(call(...values))));
}

function tapedCall(tape: Tape, what: string, call: Method): Method {
  return (...values) =>
    new Promise((resolve, reject) => {
      const close = tape.open(
        { what, detail: digest(values) },
        (arrive) => {
          new Promise((done) => done(call(...values))).then(
            (value) => arrive({ value: ['gave', pack(value)] }),
            (error: unknown) => arrive({ value: ['failed', pack(error)] }),
          );
          return () => undefined;
        },
        (arrival) => {
          close();
          const [how, value] = 'value' in arrival ? (arrival.value as [string, unknown]) : [];
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- an error was packed
          if (how === 'failed') reject(unpack(value));
          else resolve(unpack(value));
        },
      );
    });
}

/** A key that is equal for equal lists of arguments. */
function digest(values: readonly unknown[]): string {
  return hash('sha1', JSON.stringify(pack(values))).slice(0, 12);
}
