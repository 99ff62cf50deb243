/* layout_check.c - assertions of the ABI's layout. To change an assertion breaks existing plugins.
 *
 * If a field is appended, add its line, adjust its table's size, and increase OUTLET_ABI_MINOR. */
#include <outlet/outlet.h>

#if UINTPTR_MAX != UINT64_MAX
#error "Outlet's plugin ABI is defined for 64-bit systems"
#endif

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " changed its size")
#define AT(type, field, offset) \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " moved")

SIZE(outlet_view, 16);
AT(outlet_view, ptr, 0);
AT(outlet_view, len, 8);

SIZE(outlet_field, 32);
AT(outlet_field, name, 0);
AT(outlet_field, value, 16);

SIZE(outlet_call, 8);
AT(outlet_call, id, 0);

SIZE(outlet_request, 8);
AT(outlet_request, id, 0);

SIZE(outlet_response, 8);
AT(outlet_response, id, 0);

SIZE(outlet_completion, 8);
AT(outlet_completion, id, 0);

SIZE(outlet_sink, 8);
AT(outlet_sink, id, 0);

SIZE(outlet_host, 344);
AT(outlet_host, struct_size, 0);
AT(outlet_host, abi_minor, 4);
AT(outlet_host, name, 8);
AT(outlet_host, version, 24);
AT(outlet_host, extension, 40);
AT(outlet_host, log, 48);
AT(outlet_host, fail, 56);
AT(outlet_host, deadline_ns, 64);
AT(outlet_host, config_value, 72);
AT(outlet_host, request_method, 80);
AT(outlet_host, request_url, 88);
AT(outlet_host, request_header, 96);
AT(outlet_host, request_headers, 104);
AT(outlet_host, request_body, 112);
AT(outlet_host, request_attr, 120);
AT(outlet_host, request_set_method, 128);
AT(outlet_host, request_set_url, 136);
AT(outlet_host, request_set_header, 144);
AT(outlet_host, request_add_header, 152);
AT(outlet_host, request_remove_header, 160);
AT(outlet_host, request_set_body, 168);
AT(outlet_host, request_set_attr, 176);
AT(outlet_host, request_slot, 184);
AT(outlet_host, request_set_slot, 192);
AT(outlet_host, request_answer, 200);
AT(outlet_host, response_status, 208);
AT(outlet_host, response_error, 216);
AT(outlet_host, response_header, 224);
AT(outlet_host, response_headers, 232);
AT(outlet_host, response_body, 240);
AT(outlet_host, response_replace, 248);
AT(outlet_host, response_replace_error, 256);
AT(outlet_host, sink_write, 264);
AT(outlet_host, is_awaited, 272);
AT(outlet_host, done, 280);
AT(outlet_host, retry_done, 288);
AT(outlet_host, quiesced, 296);
AT(outlet_host, redirect_done, 304);
AT(outlet_host, request_snapshot, 312);
AT(outlet_host, request_body_read, 320);
AT(outlet_host, response_snapshot, 328);
AT(outlet_host, response_body_read, 336);

SIZE(outlet_request_snapshot, 64);
AT(outlet_request_snapshot, struct_size, 0);
AT(outlet_request_snapshot, reserved, 4);
AT(outlet_request_snapshot, method, 8);
AT(outlet_request_snapshot, url, 24);
AT(outlet_request_snapshot, fields, 40);
AT(outlet_request_snapshot, field_count, 48);
AT(outlet_request_snapshot, body_length, 56);

SIZE(outlet_response_snapshot, 64);
AT(outlet_response_snapshot, struct_size, 0);
AT(outlet_response_snapshot, status, 4);
AT(outlet_response_snapshot, error_code, 8);
AT(outlet_response_snapshot, error_message, 24);
AT(outlet_response_snapshot, fields, 40);
AT(outlet_response_snapshot, field_count, 48);
AT(outlet_response_snapshot, body_length, 56);

SIZE(outlet_hooks, 120);
AT(outlet_hooks, struct_size, 0);
AT(outlet_hooks, reserved, 4);
AT(outlet_hooks, prepare, 8);
AT(outlet_hooks, will_send, 16);
AT(outlet_hooks, did_receive, 24);
AT(outlet_hooks, process, 32);
AT(outlet_hooks, adapt, 40);
AT(outlet_hooks, retry, 48);
AT(outlet_hooks, cancel, 56);
AT(outlet_hooks, request_done, 64);
AT(outlet_hooks, finalize, 72);
AT(outlet_hooks, redirect, 80);
AT(outlet_hooks, serialize, 88);
AT(outlet_hooks, event_mask, 96);
AT(outlet_hooks, on_events, 104);
AT(outlet_hooks, trust, 112);

SIZE(outlet_event, 72);
AT(outlet_event, kind, 0);
AT(outlet_event, reserved, 4);
AT(outlet_event, time_ns, 8);
AT(outlet_event, duration_ns, 16);
AT(outlet_event, a, 24);
AT(outlet_event, b, 32);
AT(outlet_event, request_id, 40);
AT(outlet_event, text, 56);

SIZE(outlet_events, 32);
AT(outlet_events, struct_size, 0);
AT(outlet_events, stride, 4);
AT(outlet_events, count, 8);
AT(outlet_events, dropped, 16);
AT(outlet_events, first, 24);

SIZE(outlet_trust, 56);
AT(outlet_trust, struct_size, 0);
AT(outlet_trust, port, 4);
AT(outlet_trust, host, 8);
AT(outlet_trust, certificates, 24);
AT(outlet_trust, certificate_count, 32);
AT(outlet_trust, fault, 40);

SIZE(outlet_export, 64);
AT(outlet_export, struct_size, 0);
AT(outlet_export, flags, 4);
AT(outlet_export, name, 8);
AT(outlet_export, signature, 24);
AT(outlet_export, summary, 40);
AT(outlet_export, function, 56);

SIZE(outlet_config, 40);
AT(outlet_config, struct_size, 0);
AT(outlet_config, reserved, 4);
AT(outlet_config, json, 8);
AT(outlet_config, data_dir, 24);

SIZE(outlet_descriptor, 232);
AT(outlet_descriptor, struct_size, 0);
AT(outlet_descriptor, flags, 4);
AT(outlet_descriptor, id, 8);
AT(outlet_descriptor, version, 24);
AT(outlet_descriptor, name, 40);
AT(outlet_descriptor, summary, 56);
AT(outlet_descriptor, vendor, 72);
AT(outlet_descriptor, url, 88);
AT(outlet_descriptor, config_schema, 104);
AT(outlet_descriptor, permissions, 120);
AT(outlet_descriptor, permission_count, 128);
AT(outlet_descriptor, exports, 136);
AT(outlet_descriptor, export_count, 144);
AT(outlet_descriptor, data, 152);
AT(outlet_descriptor, create, 160);
AT(outlet_descriptor, hooks, 168);
AT(outlet_descriptor, quiesce, 176);
AT(outlet_descriptor, destroy, 184);
AT(outlet_descriptor, extension, 192);
AT(outlet_descriptor, order, 200);
AT(outlet_descriptor, reserved, 204);
AT(outlet_descriptor, required_services, 208);
AT(outlet_descriptor, required_service_count, 216);
AT(outlet_descriptor, reconfigure, 224);

SIZE(outlet_module, 24);
AT(outlet_module, struct_size, 0);
AT(outlet_module, abi_minor, 4);
AT(outlet_module, min_host_minor, 8);
AT(outlet_module, descriptor_count, 12);
AT(outlet_module, descriptors, 16);

SIZE(outlet_exchange, 8);
AT(outlet_exchange, id, 0);

SIZE(outlet_http_request, 80);
AT(outlet_http_request, struct_size, 0);
AT(outlet_http_request, flags, 4);
AT(outlet_http_request, method, 8);
AT(outlet_http_request, url, 24);
AT(outlet_http_request, fields, 40);
AT(outlet_http_request, field_count, 48);
AT(outlet_http_request, body, 56);
AT(outlet_http_request, timeout_ns, 72);

SIZE(outlet_http, 24);
AT(outlet_http, struct_size, 0);
AT(outlet_http, reserved, 4);
AT(outlet_http, send, 8);
AT(outlet_http, cancel, 16);

SIZE(outlet_timer, 8);
AT(outlet_timer, id, 0);

SIZE(outlet_streams, 24);
AT(outlet_streams, struct_size, 0);
AT(outlet_streams, reserved, 4);
AT(outlet_streams, watch_response, 8);
AT(outlet_streams, send_body, 16);

SIZE(outlet_timers, 24);
AT(outlet_timers, struct_size, 0);
AT(outlet_timers, reserved, 4);
AT(outlet_timers, start, 8);
AT(outlet_timers, cancel, 16);

/* The values of statuses and verdicts are part of the ABI, too. */
_Static_assert(sizeof(outlet_status) == 4, "outlet_status changed its size");
_Static_assert(OUTLET_OK == 0 && OUTLET_PENDING == 1, "a status changed its value");
_Static_assert(OUTLET_E_FAILED == -1 && OUTLET_E_STALE == -2 && OUTLET_E_DENIED == -3 &&
                   OUTLET_E_ARGUMENT == -4 && OUTLET_E_THREAD == -5 && OUTLET_E_STATE == -6 &&
                   OUTLET_E_TIMEOUT == -7 && OUTLET_E_CANCELLED == -8 &&
                   OUTLET_E_UNSUPPORTED == -9 && OUTLET_E_NOT_FOUND == -10,
               "a status changed its value");
_Static_assert(OUTLET_RETRY_NO == 0 && OUTLET_RETRY_NOW == 1 && OUTLET_RETRY_AFTER == 2 &&
                   OUTLET_RETRY_FAIL_WITH == 3,
               "a verdict changed its value");
_Static_assert(OUTLET_REDIRECT_FOLLOW == 0 && OUTLET_REDIRECT_TAKE == 1 && OUTLET_REDIRECT_FAIL == 2,
               "a verdict changed its value");
_Static_assert(OUTLET_F_CONCURRENT == 1 && OUTLET_F_NONBLOCKING == 2 && OUTLET_F_SPAWNS == 4 &&
                   OUTLET_F_PER_PROCESS == 8 && OUTLET_X_ANY_THREAD == 1 && OUTLET_X_PURE == 2,
               "a flag changed its value");
