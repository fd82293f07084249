import { describe, expect, test } from '@jest/globals';
import { compiled } from './compiled.ts';
import { enumRows, fieldRows, methodRows, table } from './published.ts';

const registry = compiled();

// Of each the tables hold the facts of the published interface; of CSI, version 1.11, those of the service Node.
describe.each([
  { path: 'runtime/v1/api.proto', name: 'runtime.v1', folder: 'runtime' },
  { path: 'csi/v1/csi.proto', name: 'csi.v1', folder: 'csi' },
  { path: 'pluginregistration/api.proto', name: 'pluginregistration', folder: 'plugin-registration' },
  { path: 'deviceplugin/v1beta1/api.proto', name: 'v1beta1', folder: 'device-plugin' },
  { path: 'dra/v1/api.proto', name: 'k8s.io.kubelet.pkg.apis.dra.v1', folder: 'dra' },
  { path: 'dra/v1beta1/api.proto', name: 'k8s.io.kubelet.pkg.apis.dra.v1beta1', folder: 'dra-v1beta1' },
  { path: 'dra-health/v1alpha1/api.proto', name: 'v1alpha1', folder: 'dra-health' },
  { path: 'podresources/v1/api.proto', name: 'v1', folder: 'pod-resources' },
])('$path against the tables of the published interface', ({ path, name, folder }) => {
  const file = registry.getFile(path);
  if (file === undefined) throw new Error(`${path} is not part of the module`);

  test(`is proto3 in package ${name}, without extensions`, () => {
    expect(file.proto.syntax).toBe('proto3');
    expect(file.proto.package).toBe(name);
    expect(file.extensions).toEqual([]);
  });

  test('has every message and field: number, name, type, label and oneof', () => {
    expect(fieldRows(file)).toEqual(table(folder, 'fields'));
  });

  test('has every enum and value', () => {
    expect(enumRows(file)).toEqual(table(folder, 'enums'));
  });

  test('has every method', () => {
    expect(methodRows(file)).toEqual(table(folder, 'methods'));
  });
});
