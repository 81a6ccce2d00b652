/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flip DRIVER N [EVERY] - N page flips on the first screen of a driver, one after the
 * other; before each EVERYth it sleeps so long that the flip misses its vblanks.
 *
 * Prints "flip SEQUENCE late|soon", the vblank in which each has become visible, and
 * "ioctl NAME RESULT" for each call.
 */
#include "drm_node.h"

#include <stdint.h>

#include <drm/drm_mode.h>

#define LATE_US 100000 /* six vblanks at 60 Hz */

struct screen {
	int fd;
	uint32_t crtc, connector;
	struct drm_mode_modeinfo mode;
	uint32_t fb[2];
};

/* The first connector with a mode, and the first CRTC. */
static void find_screen(struct screen *s)
{
	uint32_t crtcs[8], connectors[8], encoders[8], fbs[8];
	struct drm_mode_card_res res = {
		.crtc_id_ptr = (uintptr_t)crtcs,
		.connector_id_ptr = (uintptr_t)connectors,
		.encoder_id_ptr = (uintptr_t)encoders,
		.fb_id_ptr = (uintptr_t)fbs,
		.count_crtcs = 8,
		.count_connectors = 8,
		.count_encoders = 8,
		.count_fbs = 8,
	};

	must(call(s->fd, DRM_IOCTL_MODE_GETRESOURCES, &res), "GETRESOURCES");
	s->crtc = crtcs[0];
	for (uint32_t i = 0; i < res.count_connectors && i < 8; i++) {
		struct drm_mode_modeinfo modes[128];
		struct drm_mode_get_connector get = { .connector_id = connectors[i] };

		/* Asking for none makes the driver look at what is plugged in. */
		must(call(s->fd, DRM_IOCTL_MODE_GETCONNECTOR, &get), "GETCONNECTOR");
		if (!get.count_modes || get.count_modes > 128)
			continue;
		get.modes_ptr = (uintptr_t)modes;
		get.count_props = get.count_encoders = 0;
		must(call(s->fd, DRM_IOCTL_MODE_GETCONNECTOR, &get), "GETCONNECTOR");
		s->connector = connectors[i];
		s->mode = modes[0];
		return;
	}
	must(-ENODEV, "a screen");
}

static uint32_t new_fb(const struct screen *s)
{
	struct drm_mode_create_dumb dumb = { .width = s->mode.hdisplay,
					     .height = s->mode.vdisplay,
					     .bpp = 32 };
	struct drm_mode_fb_cmd fb = {
		.width = s->mode.hdisplay, .height = s->mode.vdisplay, .bpp = 32, .depth = 24
	};

	must(call(s->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb), "CREATE_DUMB");
	fb.pitch = dumb.pitch;
	fb.handle = dumb.handle;
	must(call(s->fd, DRM_IOCTL_MODE_ADDFB, &fb), "ADDFB");
	return fb.fb_id;
}

static void set_mode(struct screen *s)
{
	struct drm_mode_crtc crtc = {
		.set_connectors_ptr = (uintptr_t)&s->connector,
		.count_connectors = 1,
		.crtc_id = s->crtc,
		.fb_id = s->fb[0],
		.mode_valid = 1,
		.mode = s->mode,
	};

	must(call(s->fd, DRM_IOCTL_MODE_SETCRTC, &crtc), "SETCRTC");
	printf("mode %ux%u@%u\n", s->mode.hdisplay, s->mode.vdisplay, s->mode.vrefresh);
}

static uint32_t flip(struct screen *s, int i)
{
	struct drm_mode_crtc_page_flip args = {
		.crtc_id = s->crtc,
		.fb_id = s->fb[(i + 1) & 1],
		.flags = DRM_MODE_PAGE_FLIP_EVENT,
	};
	struct drm_event_vblank event;

	must(call(s->fd, DRM_IOCTL_MODE_PAGE_FLIP, &args), "PAGE_FLIP");
	if (read(s->fd, &event, sizeof(event)) != sizeof(event) ||
	    event.base.type != DRM_EVENT_FLIP_COMPLETE)
		must(-EIO, "the event of a flip");
	return event.sequence;
}

int main(int argc, char **argv)
{
	struct screen s = { 0 };
	int n, every;

	if (argc < 3)
		return 2;
	n = atoi(argv[2]);
	every = argc > 3 ? atoi(argv[3]) : 0;
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	s.fd = open_driver(argv[1], 0, 0);
	must(s.fd, argv[1]);
	find_screen(&s);
	s.fb[0] = new_fb(&s);
	s.fb[1] = new_fb(&s);
	set_mode(&s);
	for (int i = 0; i < n; i++) {
		int late = every && i % every == every - 1;

		if (late)
			usleep(LATE_US);
		printf("flip %u %s\n", flip(&s, i), late ? "late" : "soon");
	}
	return 0;
}
