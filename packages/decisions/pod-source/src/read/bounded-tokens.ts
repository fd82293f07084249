import { type CST, Lexer, type LineCounter, Parser } from 'yaml';
import { MAX_DEPTH } from './extent.ts';

/** Keys, values and indicators of a whole file: some ten times those of a list with as many pods as a node runs. */
const MAX_TOKENS = 300_000;
/** More aliases than any manifest needs: the cost of each grows with the file. */
const MAX_ALIASES = 1_000;

/** Thrown when a file exceeds a limit at this offset. */
export class ManifestLimit extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * The syntax tokens of a file, for the parser's composer, which needs memory and calls of functions for each of them.
 *
 * @throws ManifestLimit before a document is yielded that exceeds a limit.
 */
export function* boundedTokens(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let tokens = 0;
  let aliases = 0;
  const refuse = (limit: string) => new ManifestLimit(limit, parser.offset);
  for (const source of new Lexer().lex(text)) {
    const start = source.charAt(0);
    if (!INSIGNIFICANT.has(start) && ++tokens > MAX_TOKENS) {
      throw refuse(`more than ${MAX_TOKENS} keys, values and indicators`);
    }
    if (start === '*' && ++aliases > MAX_ALIASES) throw refuse(`more than ${MAX_ALIASES} aliases`);
    yield* parser.next(source);
    // The document and the value that is being read are on the stack, as well.
    if (parser.stack.length > MAX_DEPTH + 2) throw refuse(`nested more than ${MAX_DEPTH} levels deep`);
  }
  yield* parser.end();
}

/** First characters of white space and comments, and of the mark before the text of a scalar. */
const INSIGNIFICANT: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r', '#', '\x1f']);
