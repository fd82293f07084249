import { MountError, mount } from './mount-programs.ts';
import { type ProgramResult, runProgram } from './run-program.ts';

/** Time limit for creating or repairing a device's file system, which may read or write much of it. */
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
 * Mounts the file system of a block device. A device without a file system and partitions is formatted first; an
 * existing file system is repaired if no data can be lost (behaviour:volumes, local). Throws {@link MountError}.
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

/** The content of a block device: the type of its file system, or `partitions`; undefined if it is empty. */
async function deviceFormat(device: string): Promise<string | undefined> {
  const result = await runProgram(
    ['blkid', '-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', '--', device],
    SHORT_MS,
  );
  // blkid(8): nothing recognized.
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

/** fsck(8): errors were left uncorrected. Greater codes mean that it could not check; the mount then succeeds or fails. */
const NOT_CORRECTED = 4;

async function repair(device: string): Promise<void> {
  const result = await runProgram(['fsck', '-a', device], LONG_MS);
  if (result.code !== NOT_CORRECTED && !result.timedOut) return;
  throw failed(`'fsck' found errors on device ${device} but could not correct them`, device, result);
}

function failed(what: string, device: string, { stdout, stderr, timedOut }: ProgramResult): MountError {
  const said = timedOut ? 'timed out' : [stderr, stdout].map((text) => text.trim()).find(Boolean);
  return new MountError('device', `${what}: ${said ?? 'no reason was given'}`, { context: { device } });
}
