/**
 * The names of a log's files, as in the reference kubelet's container log manager (behaviour:labels-paths-logs): the log
 * itself is `0.log`, rotated `0.log.20300101-000000`, later compressed to `0.log.20300101-000000.gz`, and during the compression
 * `0.log.20300101-000000.tmp`.
 */
const SUFFIX = /^\.\d{8}-\d{6}(\.gz|\.tmp|)$/;

/** One rotated file of a log. */
export interface RotatedLog {
  /** Its name before it was compressed. It identifies the file and is greater than the names of older files. */
  readonly base: string;
  /** Its current file name. */
  readonly file: string;
  readonly compressed: boolean;
}

/** What to do in the folder of a log that has become too large, in this order. All values are file names. */
export interface RotationPlan {
  /** Files to remove: leftovers of an interrupted compression, and the oldest files beyond the maximum. */
  readonly remove: readonly string[];
  /** The log's new name. */
  readonly rotateTo: string;
  /** Files to compress: rotated files to which no process writes any more, without the one that is being rotated. */
  readonly compress: readonly string[];
}

/**
 * The rotated files of the log called `log`, the oldest first.
 *
 * @param files the names of all files in its folder
 */
export function rotatedLogs(log: string, files: readonly string[]): RotatedLog[] {
  const present = new Set(files);
  return files
    .flatMap((file): RotatedLog[] => {
      const ending = endingOf(log, file);
      if (ending === '.gz') return [{ base: file.slice(0, -ending.length), file, compressed: true }];
      // If its compressed form exists too, the uncompressed file was about to be removed.
      const last = ending === '' && !present.has(`${file}.gz`);
      return last ? [{ base: file, file, compressed: false }] : [];
    })
    .sort((a, b) => (a.base < b.base ? -1 : 1));
}

/**
 * How the log called `log` is rotated. The new name is greater than every earlier one, even when the clock was set back or
 * is read twice within a second, so that the order of the names is the order of the files.
 *
 * @param files the names of all files in its folder
 * @param maxFiles how many files the log may have, itself included; at least 2 (containerLogMaxFiles)
 * @param now milliseconds since the Unix epoch
 */
export function planRotation(input: {
  readonly log: string;
  readonly files: readonly string[];
  readonly maxFiles: number;
  readonly now: number;
}): RotationPlan {
  const { log, files, maxFiles, now } = input;
  const rotated = rotatedLogs(log, files);
  const used = new Set(rotated.map(({ file }) => file));
  const leftovers = files.filter((file) => endingOf(log, file) !== undefined && !used.has(file));
  // Besides them there will be the log and the file that is being rotated.
  const excess = rotated.slice(0, Math.max(0, rotated.length - Math.max(0, maxFiles - 2)));
  const newest = rotated.at(-1)?.base.slice(log.length + 1);
  return {
    remove: [...leftovers, ...excess.map(({ file }) => file)],
    rotateTo: `${log}.${stampAfter(newest, now)}`,
    compress: rotated.slice(excess.length).flatMap(({ compressed, file }) => (compressed ? [] : [file])),
  };
}

/** The attempt to which a log file belongs: 3 for `3.log` and its rotated files. */
export function attemptOfLog(file: string): number | undefined {
  const [, digits] = /^(\d{1,9})\.log(\.|$)/.exec(file) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** What follows the time in the name of a rotated file; undefined when the file does not belong to this log. */
function endingOf(log: string, file: string): string | undefined {
  return file.startsWith(log) ? SUFFIX.exec(file.slice(log.length))?.[1] : undefined;
}

/** In UTC, where no hour repeats. */
function stampAfter(newest: string | undefined, now: number): string {
  const stamp = stampOf(now);
  if (newest === undefined || stamp > newest) return stamp;
  const [, date, hours, minutes, seconds] = /^(\d{8})-(\d{2})(\d{2})(\d{2})$/.exec(newest) ?? [];
  const day = date?.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3') ?? '';
  return stampOf(Date.parse(`${day}T${hours ?? ''}:${minutes ?? ''}:${seconds ?? ''}Z`) + 1000);
}

function stampOf(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split(/[T.]/);
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}
