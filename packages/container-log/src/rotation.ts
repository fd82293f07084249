/**
 * The names of a log's files, as the reference kubelet's container log manager gives them (kubelet behaviour 1.7): the log
 * itself `0.log`, rotated `0.log.20300101-000000`, later compressed `0.log.20300101-000000.gz`, and while that is done
 * `0.log.20300101-000000.tmp`.
 */
const SUFFIX = /^\.\d{8}-\d{6}(\.gz|\.tmp|)$/;

/** One rotated file of a log. */
export interface RotatedLog {
  /** Its name before it was compressed: what it is known by, and greater than those of older files. */
  readonly base: string;
  /** The file that has it now. */
  readonly file: string;
  readonly compressed: boolean;
}

/** What to do in the folder of a log that has become too large; names of files. In this order. */
export interface RotationPlan {
  /** Leftovers of a compression that was cut short, and the oldest that are too many. */
  readonly remove: readonly string[];
  /** The log's new name. */
  readonly rotateTo: string;
  /** Rotated files that nobody writes to any more. The one that is rotated now is not among them. */
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
      // One that is there compressed, too, was to be removed next.
      const last = ending === '' && !present.has(`${file}.gz`);
      return last ? [{ base: file, file, compressed: false }] : [];
    })
    .sort((a, b) => (a.base < b.base ? -1 : 1));
}

/**
 * How the log called `log` is rotated. The new name is greater than every earlier one, also when the clock went back or is
 * asked twice within a second, so that the names tell the order.
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
  // Beside them there will be the log and the one that is rotated now.
  const excess = rotated.slice(0, Math.max(0, rotated.length - Math.max(0, maxFiles - 2)));
  const newest = rotated.at(-1)?.base.slice(log.length + 1);
  return {
    remove: [...leftovers, ...excess.map(({ file }) => file)],
    rotateTo: `${log}.${stampAfter(newest, now)}`,
    compress: rotated.slice(excess.length).flatMap(({ compressed, file }) => (compressed ? [] : [file])),
  };
}

/** The attempt that a log file is of: that of `3.log`, and of its rotated files. */
export function attemptOfLog(file: string): number | undefined {
  const [, digits] = /^(\d{1,9})\.log(\.|$)/.exec(file) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** What follows the time in the name of a rotated file; undefined when the file is none of this log. */
function endingOf(log: string, file: string): string | undefined {
  return file.startsWith(log) ? SUFFIX.exec(file.slice(log.length))?.[1] : undefined;
}

/** In UTC, where no hour comes twice. */
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
