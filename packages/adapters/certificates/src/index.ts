export { ALGORITHM, Authority, type KeyPair, type Usage, nameOf, newKeys, privateKeyText } from './authority.ts';
