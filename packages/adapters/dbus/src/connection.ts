import dbus, { type DBusError, type Message, type MessageBus } from 'dbus-native';
import { DBusCallError } from './errors.ts';

/** A method of an object on the bus. */
export interface Method {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** D-Bus signature of `body`. */
  readonly signature?: string;
  readonly body?: unknown[];
}

/** A signal that has arrived. */
export interface Signal {
  readonly path: string | undefined;
  readonly interface: string | undefined;
  readonly member: string | undefined;
  readonly body: readonly unknown[];
}

/** Bytes: the answers that are read here are far smaller, and a greater one is refused before it is read. */
const MAX_MESSAGE = 4 * 1024 * 1024;
const SIGNAL = 4;

/** One connection to a bus. It is not opened again when it is lost. */
export class BusConnection {
  readonly #bus: MessageBus;
  readonly #address: string;
  /** Of the calls without an answer: called when there will be none. */
  readonly #failures = new Set<(error: Error) => void>();
  #lost: Error | undefined;

  /**
   * @param address of the bus, such as `unix:path=/run/dbus/system_bus_socket`
   * @param timeoutMs milliseconds for which a call waits for its answer
   * @param on.signal called with each signal, before the answers that arrive after it
   * @param on.lost called when no further message will arrive
   */
  constructor(
    address: string,
    timeoutMs: number,
    on: { readonly signal: (signal: Signal) => void; readonly lost: (why: Error) => void },
  ) {
    this.#address = address;
    this.#bus = dbus.createClient({
      busAddress: address,
      authMethods: ['EXTERNAL'],
      maxMessageSize: MAX_MESSAGE,
      timeout: timeoutMs,
      // The library would throw an error of its own greeting where no caller can catch it.
      direct: true,
    });
    const { connection } = this.#bus;
    const lost = (why: Error) => {
      if (this.#lost !== undefined) return;
      this.#lost = why;
      for (const fail of this.#failures) fail(why);
      on.lost(why);
    };
    connection.on('error', lost);
    for (const event of ['close', 'end'] as const)
      connection.on(event, () => lost(new Error('the connection was closed')));
    connection.on('message', ({ type, path, interface: name, member, body = [] }: Message) => {
      if (type === SIGNAL) on.signal({ path, interface: name, member, body });
    });
  }

  /** Why no further call can be made; undefined while one can. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Registers the connection with the bus; to be called before anything else. Throws {@link DBusCallError}. */
  async greet(): Promise<void> {
    await this.call(busMethod('Hello'));
  }

  /** The bus sends the signals that match the rule from now on. Throws {@link DBusCallError}. */
  async listen(rule: string): Promise<void> {
    await this.call({ ...busMethod('AddMatch'), signature: 's', body: [rule] });
  }

  /**
   * Calls a method, and resolves with what `read` makes of the answer. `read` is called before any later message is handled: what it
   * registers misses no signal that follows the answer.
   *
   * Throws {@link DBusCallError} that names method and bus.
   */
  call<T = undefined>(method: Method, read?: (answer: unknown) => T): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        this.#failures.delete(fail);
        reject(this.#failure(method, error));
      };
      // A failed login is reported on the connection alone, and its calls would wait for their time limit.
      this.#failures.add(fail);
      this.#bus.invoke({ ...method }, (error: DBusError | null, answer: unknown) => {
        this.#failures.delete(fail);
        if (error !== null) fail(error);
        else resolve(read?.(answer));
      });
    });
  }

  async close(): Promise<void> {
    await this.#bus.close();
  }

  #failure({ destination, member }: Method, cause: Error & { dbusName?: unknown }): DBusCallError {
    const { dbusName } = cause;
    const name = typeof dbusName === 'string' ? dbusName : undefined;
    const message = `D-Bus call ${member} of ${destination} over ${this.#address}: ${cause.message}`;
    return new DBusCallError('dbus', message, {
      cause,
      context: { member, ...(name !== undefined && { dbusName: name }) },
    });
  }
}

function busMethod(member: string): Method {
  const name = 'org.freedesktop.DBus';
  return { destination: name, path: '/org/freedesktop/DBus', interface: name, member };
}
