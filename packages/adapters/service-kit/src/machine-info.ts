import type { MachineInfo } from '@kubus/node-status';
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { architecture } from './node-resources.ts';

/** Where firmware and hypervisors store a machine's ID, in the order in which cAdvisor looks for it. */
const SYSTEM_UUID = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
];

/** IDs and versions of the machine. Unknown ones are empty. */
export function readMachine(): MachineInfo {
  const [swap = '0'] = /(?<=^SwapTotal:\s+)\d+/m.exec(firstOf(['/proc/meminfo'])) ?? [];
  const [image = 'Linux'] =
    /(?<=^PRETTY_NAME=("|')?)[^"'\n]+/m.exec(firstOf(['/etc/os-release', '/usr/lib/os-release'])) ?? [];
  return {
    architecture: architecture(),
    machineId: firstOf(['/etc/machine-id', '/var/lib/dbus/machine-id']),
    systemUuid: firstOf(SYSTEM_UUID),
    bootId: firstOf(['/proc/sys/kernel/random/boot_id']),
    kernelVersion: release(),
    osImage: image,
    swapBytes: Number(swap) * 1024,
  };
}

/** The text of the first file that is not empty. */
function firstOf(files: readonly string[]): string {
  for (const file of files) {
    try {
      const text = readFileSync(file, 'utf8').replaceAll('\0', '').trim();
      if (text !== '') return text;
    } catch {
      // A machine may lack any of them.
    }
  }
  return '';
}
