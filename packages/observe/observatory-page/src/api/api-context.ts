import { createContext, useContext } from 'react';
import { Api } from './api.ts';

export const ApiContext = createContext(new Api(undefined));

export function useApi(): Api {
  return useContext(ApiContext);
}
