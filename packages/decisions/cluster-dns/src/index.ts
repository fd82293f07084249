export { type OwnedRecord, answerTo } from './answer.ts';
export { isAddress, isName } from './names.ts';
export { type Zone, zoneOf } from './zone.ts';
