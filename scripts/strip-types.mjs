// Jest transform: replaces TypeScript types by blanks, so that lines and columns stay correct without source maps.
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
};
