import { MountError, mount } from './mount-programs.ts';
import { type ProgramResult, runProgram } from './run-program.ts';

/** How long a device's file system may take to be made or repaired: they read or write much of it. */
const LONG_MS = 600_000;
const SHORT_MS = 30_000;

export interface DeviceMount {
  /** Path of a block device. */
  readonly device: string;
  readonly target: string;
  readonly fsType: string;
  readonly options: readonly string[];
}

/**
 * Mounts the file system of a block device. One that has none and no partitions gets one first; one that is there is
 * repaired where that can be done without losing anything (kubelet behaviour 1.13, local). Throws {@link MountError}.
 */
export async function mountDevice({ device, target, fsType, options }: DeviceMount): Promise<void> {
  const isReadOnly = options.includes('ro');
  const format = await deviceFormat(device);
  if (format !== undefined && !isReadOnly) await repair(device);
  if (format === undefined) {
    if (isReadOnly) {
      const message = `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`;
      throw new MountError('unformatted', message, { context: { device } });
    }
    await makeFileSystem(device, fsType);
  }
  await mount({ type: fsType, source: device, target, options: [...options, 'defaults'] });
}

/** What is on a block device: the type of its file system, or `partitions`; undefined when there is nothing. */
async function deviceFormat(device: string): Promise<string | undefined> {
  const result = await runProgram(
    ['blkid', '-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', '--', device],
    SHORT_MS,
  );
  // The words of blkid(8) for: nothing that it knows.
  if (result.code === 2) return undefined;
  if (result.code !== 0) throw failed(`failed to get disk format of disk ${device}`, device, result);
  const lines = result.stdout.split('\n');
  if (lines.some((line) => line.startsWith('PTTYPE='))) return 'partitions';
  return lines.find((line) => line.startsWith('TYPE='))?.slice('TYPE='.length);
}

const FORMAT_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  ext3: ['-F', '-m0'],
  ext4: ['-F', '-m0'],
  xfs: ['-f'],
};

async function makeFileSystem(device: string, fsType: string): Promise<void> {
  const result = await runProgram([`mkfs.${fsType}`, ...(FORMAT_OPTIONS[fsType] ?? []), device], LONG_MS);
  if (result.code !== 0) throw failed(`format of disk "${device}" as ${fsType} failed`, device, result);
}

/** fsck(8): these errors are still there. Greater codes say that it could not look, and the mount will tell. */
const NOT_CORRECTED = 4;

async function repair(device: string): Promise<void> {
  const result = await runProgram(['fsck', '-a', device], LONG_MS);
  if (result.code !== NOT_CORRECTED && !result.timedOut) return;
  throw failed(`'fsck' found errors on device ${device} but could not correct them`, device, result);
}

function failed(what: string, device: string, { stdout, stderr, timedOut }: ProgramResult): MountError {
  const said = timedOut ? 'it has taken too long' : [stderr, stdout].map((text) => text.trim()).find(Boolean);
  return new MountError('device', `${what}: ${said ?? 'no reason was given'}`, { context: { device } });
}
