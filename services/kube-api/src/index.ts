export { kubeApi } from './service.ts';
