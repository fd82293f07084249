import { type Clock, toError } from '@kubus/ports';
import { BusConnection, type Method, type Signal } from './connection.ts';
import { DBusCallError, UnitError } from './errors.ts';

/** A property of a unit (org.freedesktop.systemd1(5), systemd.resource-control(5)), with its D-Bus type. */
export type UnitProperty = readonly [name: string, ...typed: TypedValue];

type TypedValue =
  | readonly [type: 'b', value: boolean]
  | readonly [type: 's', value: string]
  | readonly [type: 't', value: bigint]
  | readonly [type: 'as', value: readonly string[]]
  | readonly [type: 'ay', value: Uint8Array];

interface SystemdOptions {
  /** Address of the bus. Default: the system bus, `DBUS_SYSTEM_BUS_ADDRESS` where that is set. */
  readonly address?: string | undefined;
  /** Milliseconds for which systemd may start or stop a unit, and answer a call. Default: 30 000, that of runc. */
  readonly timeoutMs?: number;
  readonly clock: Pick<Clock, 'after'>;
}

/** Milliseconds: that of runc. */
const TIMEOUT_MS = 30_000;
const SYSTEM_BUS = 'unix:path=/run/dbus/system_bus_socket';
const SERVICE = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';
const MANAGER = `${SERVICE}.Manager`;
const JOB_RULE = `type='signal',sender='${SERVICE}',path='${PATH}',interface='${MANAGER}',member='JobRemoved'`;

/** A job of systemd that has not ended. */
interface Job {
  readonly ended: (result: string) => void;
  /** The connection was lost: its end will not be reported. */
  readonly lost: (error: Error) => void;
}

/** The connection, once systemd sends the ends of jobs over it. */
interface Subscribed {
  readonly bus: BusConnection;
  /** By object path: the jobs whose end is awaited. */
  readonly jobs: Map<string, Job>;
}

/**
 * systemd's manager of units over D-Bus (org.freedesktop.systemd1(5)). Connects with the first call, and again when the connection was
 * lost. A call that was under way then is made once more: each of them has the same effect when it is repeated.
 */
export class Systemd {
  readonly #options: SystemdOptions;
  #connection: Promise<Subscribed> | undefined;

  constructor(options: SystemdOptions) {
    this.#options = options;
  }

  /**
   * Creates and starts a unit; resolves when it has started.
   *
   * @returns false when a unit of this name exists: it is left as it is
   *
   * Throws {@link DBusCallError}, {@link UnitError}.
   */
  async startTransientUnit(unit: string, properties: readonly UnitProperty[]): Promise<boolean> {
    try {
      await this.#job('start', unit, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', [
        unit,
        'replace',
        values(properties),
        [],
      ]);
      return true;
    } catch (error) {
      if (isNamed(error, 'UnitExists')) return false;
      throw error;
    }
  }

  /** Starts an existing unit; resolves when it has started, at once when it is active. Throws as {@link startTransientUnit}. */
  async startUnit(unit: string): Promise<void> {
    await this.#job('start', unit, 'StartUnit', 'ss', [unit, 'replace']);
  }

  /** Changes properties of an existing unit, until the next boot. Throws {@link DBusCallError}. */
  async setUnitProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#call('SetUnitProperties', 'sba(sv)', [unit, true, values(properties)]);
  }

  /** Stops a unit with all in it; resolves when it has ended, at once when there is none. Throws as {@link startTransientUnit}. */
  async stopUnit(unit: string): Promise<void> {
    try {
      await this.#job('stop', unit, 'StopUnit', 'ss', [unit, 'replace']);
    } catch (error) {
      if (!isNamed(error, 'NoSuchUnit')) throw error;
    }
  }

  /** The properties of a unit that is loaded, by name. Throws {@link DBusCallError}. */
  async unitProperties(unit: string): Promise<Readonly<Record<string, unknown>>> {
    const path = await this.#call('GetUnit', 's', [unit]);
    const { bus } = await this.#connected();
    const method = {
      destination: SERVICE,
      path: String(path),
      interface: 'org.freedesktop.DBus.Properties',
      member: 'GetAll',
    };
    const answer = await bus.call({ ...method, signature: 's', body: [''] }, (properties) => properties);
    return typeof answer === 'object' && answer !== null ? { ...answer } : {};
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    const connected = await connection?.catch(() => undefined);
    await connected?.bus.close();
  }

  /** Makes a call that starts a job, and waits for its end. */
  async #job(what: 'start' | 'stop', unit: string, member: string, signature: string, body: unknown[]): Promise<void> {
    const result = await this.#retried((connected) =>
      this.#jobResult(connected, { ...manager(member), signature, body }),
    );
    if (result === 'done') return;
    await this.#call('ResetFailedUnit', 's', [unit]).catch(() => undefined);
    const why = result === undefined ? 'it has not finished in time' : `its job ended with "${result}"`;
    throw new UnitError('unit-job', `systemd did not ${what} unit ${unit}: ${why}`, { context: { unit } });
  }

  /** Undefined when the job takes too long. */
  async #jobResult({ bus, jobs }: Subscribed, method: Method): Promise<string | undefined> {
    const { clock, timeoutMs = TIMEOUT_MS } = this.#options;
    const ended = Promise.withResolvers<string | undefined>();
    // The job may end in the same moment in which the answer arrives: it is awaited before the next message is handled.
    await bus.call(method, (path) => {
      const job = String(path);
      const cancel = clock.after(timeoutMs, () => settle(() => ended.resolve(undefined)));
      const settle = (action: () => void) => {
        cancel();
        jobs.delete(job);
        action();
      };
      jobs.set(job, {
        ended: (result) => settle(() => ended.resolve(result)),
        lost: (error) => settle(() => ended.reject(error)),
      });
    });
    return ended.promise;
  }

  #call(member: string, signature: string, body: unknown[]): Promise<unknown> {
    return this.#retried(({ bus }) => bus.call({ ...manager(member), signature, body }, (answer) => answer));
  }

  /** Once more when the connection was lost: bus and systemd may restart. */
  async #retried<T>(call: (connected: Subscribed) => Promise<T>): Promise<T> {
    const connected = await this.#connected();
    try {
      return await call(connected);
    } catch (error) {
      if (connected.bus.lost === undefined) throw error;
      return call(await this.#connected());
    }
  }

  async #connected(): Promise<Subscribed> {
    const known = this.#connection;
    const current = await known?.catch(() => undefined);
    if (current !== undefined && current.bus.lost === undefined) return current;
    // The first of several callers connects again.
    if (this.#connection !== known) return this.#connected();
    this.#connection = this.#connect();
    return this.#connection;
  }

  async #connect(): Promise<Subscribed> {
    const { address = process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? SYSTEM_BUS, timeoutMs = TIMEOUT_MS } = this.#options;
    const jobs: Subscribed['jobs'] = new Map();
    const bus = open(address, timeoutMs, {
      signal: (signal) => jobRemoved(signal, jobs),
      lost: (why) => [...jobs.values()].forEach(({ lost }) => lost(why)),
    });
    try {
      await bus.greet();
      await bus.listen(JOB_RULE);
      await bus.call(manager('Subscribe'));
    } catch (error) {
      await bus.close();
      throw error;
    }
    return { bus, jobs };
  }
}

function open(...[address, timeoutMs, on]: ConstructorParameters<typeof BusConnection>): BusConnection {
  try {
    return new BusConnection(address, timeoutMs, on);
  } catch (error) {
    const cause = toError(error);
    throw new DBusCallError('dbus', `bus ${address}: ${cause.message}`, { cause, context: { address } });
  }
}

function manager(member: string): Method {
  return { destination: SERVICE, path: PATH, interface: MANAGER, member };
}

function jobRemoved({ path, interface: name, member, body }: Signal, jobs: Subscribed['jobs']): void {
  if (path !== PATH || name !== MANAGER || member !== 'JobRemoved') return;
  const [, job, , result] = body;
  jobs.get(String(job))?.ended(String(result));
}

function values(properties: readonly UnitProperty[]): unknown[] {
  return properties.map(([name, type, value]) => [
    name,
    [type, value instanceof Uint8Array ? Buffer.from(value) : value],
  ]);
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof DBusCallError && error.dbusName === `${SERVICE}.${name}`;
}
