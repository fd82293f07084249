/**
 * The data of server-sent events (WHATWG HTML, section 9.2.6), as far as the observatory uses them: `data` lines, comments
 * and empty lines. EventSource itself cannot send a header.
 */
export async function* readEvents(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    const lines = `${rest}${chunk}`.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
      if (line === '' && data.length > 0) {
        yield data.join('\n');
        data = [];
      }
    }
  }
}
