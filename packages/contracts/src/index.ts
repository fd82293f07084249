export * from './subject.ts';
export * from './declare.ts';
