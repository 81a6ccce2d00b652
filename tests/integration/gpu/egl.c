/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egl.c - draws and swaps on a surface of EGL that nobody sees, and prints the calls.
 * Exit status 77: there is no display.
 */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdio.h>
#include <stdlib.h>

#define N_FRAMES 10

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: 0x%x\n", what, eglGetError());
	exit(1);
}

__attribute__((noinline)) static void draw_frame(EGLDisplay display, EGLSurface surface, int i)
{
	glClearColor((float)i / N_FRAMES, 0, 0, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glFlush();
	printf("glFlush\n");
	glFinish();
	printf("glFinish\n");
	must(eglSwapBuffers(display, surface), "eglSwapBuffers");
	printf("eglSwapBuffers\n");
}

int main(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
					 EGL_OPENGL_ES2_BIT, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, 64, EGL_HEIGHT, 64, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	EGLDisplay display =
		eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
	EGLConfig config;
	EGLSurface surface;
	EGLContext context;
	EGLint n = 0;

	if (!eglInitialize(display, NULL, NULL))
		return 77;
	must(eglChooseConfig(display, wanted, &config, 1, &n) && n, "eglChooseConfig");
	must(eglBindAPI(EGL_OPENGL_ES_API), "eglBindAPI");
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	must(surface && context, "eglCreateContext");
	must(eglMakeCurrent(display, surface, surface, context), "eglMakeCurrent");
	for (int i = 0; i < N_FRAMES; i++)
		draw_frame(display, surface, i);
	/* What fails is said, too. */
	if (!eglSwapBuffers(display, EGL_NO_SURFACE))
		printf("eglSwapBuffers result=FALSE\n");
	return 0;
}
