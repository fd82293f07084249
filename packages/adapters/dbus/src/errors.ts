import { KubusError } from '@kubus/ports';

/**
 * Thrown when a D-Bus call failed: the peer answered with an error, did not answer in time, or the bus cannot be reached. `dbusName`: the error's D-Bus
 * name, such as `org.freedesktop.systemd1.NoSuchUnit`; undefined where no peer has answered.
 */
export class DBusCallError extends KubusError {
  get dbusName(): string | undefined {
    const { dbusName } = this.context;
    return typeof dbusName === 'string' ? dbusName : undefined;
  }
}

/** Thrown when systemd could not start or stop a unit, or has not finished in time. */
export class UnitError extends KubusError {}
