export { type PathStep, causalPath, onBusBetween } from './causal-path.ts';
export { type CausalNode, causalTree } from './causal-tree.ts';
export { type RecordedMessage, recordedMessage } from './recorded-message.ts';
