export { DnsServer, type DnsServerOptions } from './dns-server.ts';
export { type Query, type ReadQuery, answerOf, aliasRecords, questionOf, readQuery, refusal } from './message.ts';
