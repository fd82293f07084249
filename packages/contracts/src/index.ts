export * from './subject.ts';
export * from './declare.ts';
export * from './graph.ts';
export * from './messages/service.ts';
