export { DBusCallError, UnitError } from './errors.ts';
export { Systemd, type UnitProperty } from './systemd.ts';
