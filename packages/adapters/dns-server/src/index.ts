export { DnsServer } from './dns-server.ts';
export { aliasRecords, answerOf, questionOf, readQuery } from './message.ts';
