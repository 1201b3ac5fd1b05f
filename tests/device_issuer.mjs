// An OpenID Connect issuer that lets people log in by a device code, and machines by their secret: node device_issuer.mjs PROVIDER PORT TTL_S
const [library, port, ttl] = process.argv.slice(2)
const { Provider } = await import(library)
const resource = { scope: '', audience: 'connect', accessTokenTTL: Number(ttl), accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }
const issuer = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'commands', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: [],
    response_types: [], grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  }, ...['basic', 'post'].map(way => ({
    client_id: `machines-${way}`, client_secret: 'secret+of/machines', token_endpoint_auth_method: `client_secret_${way}`,
    grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
  }))],
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: { enabled: true, useGrantedResource: () => true, getResourceServerInfo: () => resource },
  },
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
})
issuer.listen(Number(port), '127.0.0.1')
