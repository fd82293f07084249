import {
  Composer,
  type Document,
  type DocumentOptions,
  LineCounter,
  type ParseOptions,
  type ScalarTag,
  type SchemaOptions,
  type Tags,
  isScalar,
  visit,
} from 'yaml';
import { ManifestLimit, boundedTokens } from './bounded-tokens.ts';
import { MAX_DEPTH, extentOf } from './extent.ts';

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

/** Uses of one anchor, those inside of other anchors included. */
const MAX_USES = 100;

/**
 * Splits a file into its documents. JSON is parsed as YAML, of which it is a subset. The dialect is that of the reference: YAML 1.1
 * (`yes` is true, `0644` is octal) with `0o644`, but without times and base-60 numbers, which are strings.
 * Empty documents are omitted. A duplicate key is an error.
 */
export function parseDocuments(text: string): ParsedDocuments {
  const lines = new LineCounter();
  const documents: ManifestDocument[] = [];
  const problems: SyntaxProblem[] = [];
  const oddities: SyntaxProblem[] = [];
  const composed = compose(text, lines);
  for (const [index, document] of composed.documents.entries()) {
    const at = ({ message, pos }: { message: string; pos: readonly [number, number] }): SyntaxProblem => {
      const { line, col } = lines.linePos(pos[0]);
      return { document: index, message: `${message} (column ${col})`, line };
    };
    for (const warning of document.warnings) oddities.push(at(warning));
    // After one error, further errors of the parser in the same document are meaningless.
    const error = document.errors[0] ?? repeatedKey(document);
    if (error !== undefined) problems.push(at(error));
    else addDocument({ document, index, lines }, documents, problems);
  }
  if (composed.limit !== undefined) {
    const { message, offset } = composed.limit;
    problems.push({ document: composed.documents.length, message, line: lines.linePos(offset).line });
  }
  return { documents, problems, oddities };
}

/** The documents of a file before the one that exceeds a limit, and that limit. */
function compose(text: string, lines: LineCounter): { documents: Document.Parsed[]; limit?: ManifestLimit } {
  const composer = new Composer(dialect);
  const documents: Document.Parsed[] = [];
  try {
    for (const token of boundedTokens(text, lines)) documents.push(...composer.next(token));
    return { documents: [...documents, ...composer.end()] };
  } catch (limit) {
    if (!(limit instanceof ManifestLimit)) throw limit;
    return { documents: [...documents, ...composer.end()], limit };
  }
}

function addDocument(
  { document, index, lines }: { document: Document.Parsed; index: number; lines: LineCounter },
  documents: ManifestDocument[],
  problems: SyntaxProblem[],
): void {
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_USES });
    if (value === null) return;
    if (extentOf(value).depth > MAX_DEPTH) throw new RangeError(`nested more than ${MAX_DEPTH} levels deep`);
    documents.push({ index, value, lineOf: (path) => lineOf(document, path, lines) });
  } catch (thrown) {
    // Unknown aliases, too many aliases, or an anchor that contains itself.
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    problems.push({ document: index, message, line: lines.linePos(document.range[0]).line });
  }
}

/** The parser's own check compares each key with all before it in its map. */
function repeatedKey(document: Document.Parsed): { message: string; pos: [number, number] } | undefined {
  let found: { message: string; pos: [number, number] } | undefined;
  visit(document, {
    Map: (_key, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) {
          const [offset = 0] = key.range ?? [];
          found = { message: 'Map keys must be unique', pos: [offset, offset] };
          return visit.BREAK;
        }
        keys.add(key.value);
      }
      return undefined;
    },
  });
  return found;
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
  uniqueKeys: false,
  customTags: (tags: Tags): Tags => [
    octal,
    ...tags.filter((tag) => typeof tag === 'string' || !(withoutTags.includes(tag.tag) || tag.format === 'TIME')),
  ],
} satisfies ParseOptions & DocumentOptions & SchemaOptions;

function lineOf(document: Document.Parsed, path: readonly (string | number)[], lines: LineCounter): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) continue;
    const offset: unknown = node.range[0];
    if (typeof offset === 'number') return lines.linePos(offset).line;
  }
  return 1;
}
