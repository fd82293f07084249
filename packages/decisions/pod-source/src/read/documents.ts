import {
  type Document,
  type DocumentOptions,
  LineCounter,
  type ParseOptions,
  type ScalarTag,
  type SchemaOptions,
  type Tags,
  parseAllDocuments,
} from 'yaml';

/** One document of a manifest file, as plain data. Integers are bigints, so that no digit is lost. */
export interface ManifestDocument {
  /** Position in the file, from 0. */
  readonly index: number;
  readonly value: unknown;
  /** The line (from 1) of the value at `path`, or of its nearest existing parent. */
  lineOf(path: readonly (string | number)[]): number;
}

/** A document that is not YAML or JSON. */
interface SyntaxProblem {
  readonly document: number;
  /** Ends with the column of the error. */
  readonly message: string;
  readonly line: number;
}

export interface ParsedDocuments {
  readonly documents: readonly ManifestDocument[];
  readonly problems: readonly SyntaxProblem[];
  /** Warnings: the document can be read anyway. */
  readonly oddities: readonly SyntaxProblem[];
}

/** More uses of anchors than any manifest needs. A file that exceeds this could use up the memory and is refused. */
const MAX_ALIASES = 100;
/** Several times the depth that a pod needs. It also catches an anchor that contains an alias of itself, whose depth is infinite. */
const MAX_DEPTH = 100;

/**
 * Splits a file into its documents. JSON is parsed as YAML, of which it is a subset. The dialect is that of the reference: YAML 1.1
 * (`yes` is true, `0644` is octal) with `0o644`, but without times and base-60 numbers, which are strings.
 * Empty documents are omitted. A duplicate key is an error.
 */
export function parseDocuments(text: string): ParsedDocuments {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { ...dialect, lineCounter: lines });
  const documents: ManifestDocument[] = [];
  const problems: SyntaxProblem[] = [];
  const oddities: SyntaxProblem[] = [];
  for (const [index, document] of [...parsed].entries()) {
    const at = ({ message, pos }: { message: string; pos: readonly [number, number] }): SyntaxProblem => {
      const { line, col } = lines.linePos(pos[0]);
      return { document: index, message: `${message} (column ${col})`, line };
    };
    for (const warning of document.warnings) oddities.push(at(warning));
    const [error] = document.errors;
    if (error !== undefined) {
      // After one error, further errors of the parser in the same document are meaningless.
      problems.push(at(error));
      continue;
    }
    try {
      const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
      if (value === null) continue;
      if (isDeeperThan(value, MAX_DEPTH)) throw new RangeError(`nested more than ${MAX_DEPTH} levels deep`);
      documents.push({ index, value, lineOf: (path) => lineOf(document, path, lines) });
    } catch (thrown) {
      // Unknown aliases, too many aliases, or too deep nesting.
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      problems.push({ document: index, message, line: lines.linePos(document.range[0]).line });
    }
  }
  return { documents, problems, oddities };
}

const withoutTags = ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`);

/** `0o644`, which is not in YAML 1.1 but is accepted by the reference. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => BigInt(text.replace(/^[-+]/, '')) * (text.startsWith('-') ? -1n : 1n),
};

const dialect = {
  version: '1.1',
  intAsBigInt: true,
  // The parser's messages quote the file, which may contain values that must not be logged.
  prettyErrors: false,
  logLevel: 'silent',
  customTags: (tags: Tags): Tags => [
    octal,
    ...tags.filter((tag) => typeof tag === 'string' || !(withoutTags.includes(tag.tag) || tag.format === 'TIME')),
  ],
} satisfies ParseOptions & DocumentOptions & SchemaOptions;

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}

function lineOf(document: Document.Parsed, path: readonly (string | number)[], lines: LineCounter): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) continue;
    const offset: unknown = node.range[0];
    if (typeof offset === 'number') return lines.linePos(offset).line;
  }
  return 1;
}
