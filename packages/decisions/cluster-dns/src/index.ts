export { type Answer, type OwnedRecord, type Question, answerTo } from './answer.ts';
export { isAddress, isName } from './names.ts';
export { type DnsRecord, type Zone, type ZoneObjects, zoneOf } from './zone.ts';
