export {
  ALGORITHM,
  Authority,
  type KeyPair,
  type Usage,
  nameOf,
  newKeys,
  privateKeyText,
  requestedName,
} from './authority.ts';
