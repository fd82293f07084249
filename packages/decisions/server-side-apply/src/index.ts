export { applyPatch } from './apply.ts';
export { updateManagedFields } from './update.ts';
