// The part of systemd's manager that makes slices, on the bus of DBUS_SYSTEM_BUS_ADDRESS, because systemd can only be process 1. A unit's
// properties become the files of its cgroup below the folder CGROUPS, as in cgroup v2; what has no property gets the kernel's default, and
// SIGHUP applies all of them again (`systemctl daemon-reload`). Units named `stuck*` never start, and `failing*` fail.
// Writes a line for each call: its name, the unit, and the properties.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import dbus, { type Message } from 'dbus-native';

type Properties = Record<string, unknown>;

const NAME = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';
const [METHOD_CALL, METHOD_RETURN, ERROR, SIGNAL] = [1, 2, 3, 4];
const INFINITY = 2n ** 64n - 1n;
const folder = process.env['CGROUPS'] ?? '';
const units = new Map<string, Properties>();
const subscribers = new Set<string>();
let jobs = 0;

// Below the library's own handling of calls, which knows no object whose path is not fixed.
const bus = dbus.createConnection({ busAddress: process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? '' });
let serial = 0;
bus.on('message', (message: Message) => {
  if (message.type === METHOD_CALL) answer(message);
  else if (message.replySerial === 2) process.stdout.write('ready\n');
});
// It ends with its bus.
bus.on('end', () => process.exit(0));
process.on('SIGHUP', () => {
  for (const unit of units.keys()) apply(unit);
  process.stdout.write('reloaded\n');
});
askBus('Hello', '', []);
askBus('RequestName', 'su', [NAME, 0]);

function send(message: Message): boolean {
  return bus.message({ serial: (serial += 1), ...message });
}

function askBus(member: string, signature: string, body: unknown[]): void {
  const destination = 'org.freedesktop.DBus';
  send({
    type: METHOD_CALL,
    destination,
    path: '/org/freedesktop/DBus',
    interface: destination,
    member,
    signature,
    body,
  });
}

function reply({ serial: replySerial = 0, sender = '' }: Message, signature: string, body: unknown[]): boolean {
  return send({ type: METHOD_RETURN, replySerial, destination: sender, signature, body });
}

function answer(message: Message): boolean {
  const { member = '', sender = '', path = '', body = [] } = message;
  const unit = typeof body[0] === 'string' ? body[0] : '';
  const given = propertiesOf(member === 'StartTransientUnit' || member === 'SetUnitProperties' ? body[2] : []);
  if (member !== 'GetAll') say(member, unit, given);
  const refuse = (error: string, text: string) => {
    const errorName = `${NAME}.${error}`;
    return send({
      type: ERROR,
      replySerial: message.serial ?? 0,
      destination: sender,
      errorName,
      signature: 's',
      body: [text],
    });
  };
  switch (member) {
    case 'Subscribe':
      subscribers.add(sender);
      return reply(message, '', []);
    case 'StartTransientUnit':
      if (units.has(unit)) return refuse('UnitExists', `Unit ${unit} was already loaded or has a fragment file.`);
      return job(message, unit, () => start(unit, given));
    case 'StartUnit':
      return job(message, unit, () => start(unit, units.get(unit) ?? {}));
    case 'SetUnitProperties':
      if (!units.has(unit)) return refuse('NoSuchUnit', `Unit ${unit} not loaded.`);
      units.set(unit, { ...units.get(unit), ...given });
      apply(unit);
      return reply(message, '', []);
    case 'StopUnit':
      if (!units.has(unit)) return refuse('NoSuchUnit', `Unit ${unit} not loaded.`);
      return job(message, unit, () => stop(unit));
    case 'ResetFailedUnit':
      return reply(message, '', []);
    case 'GetUnit':
      if (!units.has(unit)) return refuse('NoSuchUnit', `Unit ${unit} not loaded.`);
      return reply(message, 'o', [`${PATH}/unit/${Buffer.from(unit).toString('hex')}`]);
    case 'GetAll':
      return reply(message, 'a{sv}', [shown(Buffer.from(path.slice(path.lastIndexOf('/') + 1), 'hex').toString())]);
    default:
      return refuse('Error', `there is no method ${member}`);
  }
}

/** The job ends before the caller can have handled the answer. */
function job(message: Message, unit: string, work: () => void): boolean {
  jobs += 1;
  const path = `${PATH}/job/${jobs}`;
  const result = unit.startsWith('failing') ? 'failed' : 'done';
  if (result === 'done' && !unit.startsWith('stuck')) work();
  const sent = reply(message, 'o', [path]);
  if (unit.startsWith('stuck') || subscribers.size === 0) return sent;
  return send({
    type: SIGNAL,
    path: PATH,
    interface: `${NAME}.Manager`,
    member: 'JobRemoved',
    signature: 'uoss',
    body: [jobs, path, unit, result],
  });
}

/** A slice's parents are started with it. */
function start(unit: string, properties: Properties): void {
  const parts = unit.replace(/\.slice$/, '').split('-');
  for (let length = 1; length < parts.length; length++) {
    const parent = `${parts.slice(0, length).join('-')}.slice`;
    if (!units.has(parent)) units.set(parent, {});
    apply(parent);
  }
  units.set(unit, properties);
  apply(unit);
}

/** A slice's units are stopped with it. */
function stop(unit: string): void {
  const inside = unit.replace(/\.slice$/, '-');
  for (const other of [...units.keys()]) if (other === unit || other.startsWith(inside)) units.delete(other);
  rmSync(cgroupOf(unit), { recursive: true, force: true });
}

function apply(unit: string): void {
  if (folder === '') return;
  const cgroup = cgroupOf(unit);
  if (!existsSync(cgroup)) {
    mkdirSync(cgroup, { recursive: true });
    writeFileSync(join(cgroup, 'cgroup.subtree_control'), '');
    writeFileSync(join(cgroup, 'cgroup.procs'), '');
  }
  const properties = units.get(unit) ?? {};
  const value = (name: string) => {
    const given = properties[name];
    return typeof given === 'bigint' && given !== INFINITY ? given : undefined;
  };
  const amount = (name: string) => String(value(name) ?? 'max');
  const [perSecond, period = 100_000n] = [value('CPUQuotaPerSecUSec'), value('CPUQuotaPeriodUSec')];
  const quota = perSecond === undefined ? 'max' : (perSecond * period) / 1_000_000n;
  const files = {
    'cpu.weight': String(value('CPUWeight') ?? 100n),
    'cpu.max': `${quota} ${period}`,
    'memory.max': amount('MemoryMax'),
    'memory.min': String(value('MemoryMin') ?? 0n),
    'memory.low': String(value('MemoryLow') ?? 0n),
    'pids.max': amount('TasksMax'),
  };
  for (const [name, value] of Object.entries(files)) writeFileSync(join(cgroup, name), value);
}

function cgroupOf(unit: string): string {
  const parts = unit.replace(/\.slice$/, '').split('-');
  return join(folder, ...parts.map((_, index) => `${parts.slice(0, index + 1).join('-')}.slice`));
}

function propertiesOf(list: unknown): Properties {
  return Object.fromEntries(list as [string, unknown][]);
}

function shown(unit: string): [string, [string, unknown]][] {
  const weight = units.get(unit)?.['CPUWeight'];
  return [
    ['Id', ['s', unit]],
    ['ActiveState', ['s', 'active']],
    ['CPUWeight', ['t', weight ?? INFINITY]],
  ];
}

function say(member: string, unit: string, given: Properties): void {
  const values = Object.entries(given).map(([name, value]) => [name, value instanceof Uint8Array ? [...value] : value]);
  const text = JSON.stringify(Object.fromEntries(values), (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  process.stdout.write(`${member} ${unit} ${text}\n`);
}
