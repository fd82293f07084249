import { HEADER, type WireMessage } from '@kubus/bus';

/** One line: the sender, the message, and its causes. */
export function describeMessage({ subject, headers }: WireMessage): string {
  const { [HEADER.source]: source = '', [HEADER.epoch]: epoch = '', [HEADER.seq]: seq = '' } = headers;
  const { [HEADER.status]: status = '', [HEADER.causes]: causes = '' } = headers;
  const what = subject.split('.').slice(2).join('.');
  const removed = headers[HEADER.removed] === undefined ? '' : ' removed';
  const because = causes === '' ? '' : `  <- ${causes}`;
  return `  ${`${source}.${epoch}.${seq}`.padEnd(22)} ${what}${removed} ${status}${because}`;
}
