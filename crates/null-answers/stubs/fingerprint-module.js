// Stands in for FingerprintJS where it is imported as a module: every visitor has the same value.
const VALUE = '00000000000000000000000000000000';
const agent = {
  get: async () => ({ visitorId: VALUE, requestId: '', visitorFound: false, confidence: { score: 0 }, components: {}, version: '3.4.2' }),
  getVisitorId: async () => VALUE,
};
export const load = async () => agent;
export const hashComponents = () => VALUE;
export const componentsToDebugString = () => '';
export const defaultEndpoint = '';
export const defaultScriptUrlPattern = '';
export const sources = {};
export default { load, hashComponents, componentsToDebugString, defaultEndpoint, defaultScriptUrlPattern, sources };
