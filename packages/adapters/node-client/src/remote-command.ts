import type { SpdySession } from './spdy/spdy-session.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';
import { text } from 'node:stream/consumers';
import { exitCode } from './exit-status.ts';
import type { StreamClient } from './node-client.ts';

/**
 * The protocol of commands (behaviour:http-api): one stream for each of its files, for its exit status, and for its
 * terminal's size.
 */
const PROTOCOL = 'v4.channel.k8s.io';

/** Which of its files are connected. */
export interface Connected {
  readonly stdin: boolean;
  /** A terminal; it has no stderr of its own. */
  readonly tty: boolean;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A connected command in a container: one that was started by exec, or the container's own process. */
export class RemoteCommand {
  /** Its end is the end of the command's input. */
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream;
  readonly stderr: SpdyStream | undefined;
  readonly #session: SpdySession;
  readonly #resize: SpdyStream | undefined;
  readonly #said: Promise<string>;

  /** @param path of /exec or /attach, with the query that selects the streams */
  static async open(client: StreamClient, path: string, connected: Connected): Promise<RemoteCommand> {
    return new RemoteCommand(await client.upgrade(path, PROTOCOL), connected);
  }

  private constructor(session: SpdySession, { stdin, tty }: Connected) {
    const open = (streamtype: string) => session.open({ streamtype });
    this.#session = session;
    this.#said = text(open('error'));
    this.stdin = stdin ? open('stdin').resume() : undefined;
    this.stdout = open('stdout');
    this.stderr = tty ? undefined : open('stderr');
    this.#resize = tty ? open('resize').resume() : undefined;
  }

  /** Sets the size of the command's terminal. */
  resize({ columns, rows }: TerminalSize): void {
    this.#resize?.write(JSON.stringify({ Width: columns, Height: rows }));
  }

  /**
   * The exit code, once the command has ended. Rejects with a NodeClientError when it could not be run, or its exit
   * status was not
   * reported. To get all of its output, read it to its end first.
   */
  async outcome(): Promise<number> {
    return exitCode(await this.#said);
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.#session.close();
  }
}

/** The query that requests these streams. */
export function connectedQuery({ stdin, tty }: Connected): [string, string][] {
  return [
    ...(stdin ? ([['input', '1']] as [string, string][]) : []),
    ['output', '1'],
    tty ? ['tty', '1'] : ['error', '1'],
  ];
}
